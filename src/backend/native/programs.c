/* SPDX-License-Identifier: Apache-2.0 */
/* A memory file costs a run 1 µs for each KiB of the program, every time. So root keeps a copy in
 * its state, which is written once and belongs to it alone: whoever is inside has another id, and
 * can neither read nor change it, nor execute hutch-init as an interpreter. An ordinary user's
 * command may have that user's own id, to whom such a copy would belong: there it is the memory
 * file. */
#include "backend/native/programs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "egress/gateway_image.h"
#include "init/guest_image.h"
#include "init/init_image.h"
#include "init/protocol.h"
#include "util/fs.h"
#include "util/own.h"
#include "util/state_dir.h"

#define DIRECTORY "/programs"
#define NAME_BYTES 64
#define PATH_BYTES 500

const struct program program_init = {"hutch-init", HUTCH_INIT_IMAGE_SUM, hutch_init_image,
                                     sizeof(hutch_init_image), 0500};
/* It is executed under ids of its own. */
const struct program program_gateway = {"hutch-gateway", HUTCH_GATEWAY_IMAGE_SUM,
                                        hutch_gateway_image, sizeof(hutch_gateway_image), 0511};

static const struct program *const kept_programs[] = {&program_init, &program_gateway};

const void *program_guest(size_t *ret_length)
{
    *ret_length = sizeof(hutch_guest_image);
    return hutch_guest_image;
}

/* The socket takes this number in the child, before the program is executed. */
static int keep_clear(int fd, struct hutch_error *err)
{
    if (fd != INIT_SOCKET_FD)
        return fd;
    int other = fcntl(fd, F_DUPFD_CLOEXEC, INIT_SOCKET_FD + 1);
    int os_errno = errno;
    (void)close(fd);
    return other < 0 ? hutch_fail_errno(err, os_errno, "duplicate a descriptor") : other;
}

int program_memfd(const char *name, const void *image, size_t length, struct hutch_error *err)
{
    unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
#ifdef MFD_EXEC
    hutch_autofd int fd = memfd_create(name, flags | MFD_EXEC);
#else
    hutch_autofd int fd = memfd_create(name, flags | 0x10U);
#endif
    if (fd < 0 && errno == EINVAL) /* a kernel before 6.3 knows no such flag and needs none */
        fd = memfd_create(name, flags);
    if (fd < 0 || hutch_write_all(fd, image, length) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
        return hutch_fail_errno(err, errno, "put %s into memory", name);
    return keep_clear(HUTCH_TAKE_FD(fd), err);
}

static void copy_name(const struct program *program, char name[NAME_BYTES])
{
    (void)snprintf(name, NAME_BYTES, "%s-%s", program->name, program->sum);
}

static bool find_directory(char path[PATH_BYTES])
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    char lib[PATH_BYTES - sizeof(DIRECTORY)];
    if (state_directory("lib", lib, sizeof(lib), &ignored) < 0)
        return false;
    (void)snprintf(path, PATH_BYTES, "%s" DIRECTORY, lib);
    return true;
}

static bool may_execute(int fd)
{
    struct statvfs info;
    return fstatvfs(fd, &info) == 0 && !(info.f_flag & ST_NOEXEC);
}

/* Whole, for it got its name when it was, and as it was made. */
static bool is_copy(int fd, const struct program *program)
{
    struct stat info;
    return fstat(fd, &info) == 0 && info.st_mode == (S_IFREG | program->mode) &&
           info.st_uid == geteuid() && info.st_size == (off_t)program->length && may_execute(fd);
}

/* It appears under its name when all of it is on the disk, and has no name before: a crash leaves
 * nothing. Where that is not possible, or it would not be taken for a copy, there is none. */
static void make_copy(const struct program *program, const char *directory, const char *path)
{
    char self[64];
    (void)mkdir(directory, 0700);
    hutch_autofd int fd = open(directory, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0 || !may_execute(fd) || hutch_write_all(fd, program->image, program->length) < 0 ||
        fchmod(fd, program->mode) < 0 || !is_copy(fd, program) || fdatasync(fd) < 0)
        return;
    (void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    hutch_autofd int whole = open(self, O_PATH | O_CLOEXEC);
    hutch_fd_close(&fd); /* what is open for writing cannot be executed */
    (void)snprintf(self, sizeof(self), "/proc/self/fd/%d", whole);
    /* another may have been faster */
    (void)!linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

static bool find_copy(const struct program *program, char directory[PATH_BYTES],
                      char path[PATH_BYTES + NAME_BYTES])
{
    char name[NAME_BYTES];
    if (!find_directory(directory))
        return false;
    copy_name(program, name);
    (void)snprintf(path, PATH_BYTES + NAME_BYTES, "%s/%s", directory, name);
    return true;
}

int program_open(const struct program *program, bool privileged, struct hutch_error *err)
{
    char directory[PATH_BYTES], path[PATH_BYTES + NAME_BYTES];
    if (privileged && find_copy(program, directory, path)) {
        int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0 && is_copy(fd, program))
            return keep_clear(fd, err);
        bool is_free = fd < 0 && errno == ENOENT;
        hutch_fd_close(&fd);
        if (is_free || unlink(path) == 0)
            make_copy(program, directory, path);
    }
    return program_memfd(program->name, program->image, program->length, err);
}

void program_forget(const struct program *program)
{
    char directory[PATH_BYTES], path[PATH_BYTES + NAME_BYTES];
    if (state_exists("lib") && find_copy(program, directory, path))
        (void)unlink(path);
}

static bool is_other(const char *name)
{
    if (name[0] == '.')
        return false;
    for (size_t i = 0; i < HUTCH_COUNT(kept_programs); i++) {
        char own[NAME_BYTES];
        copy_name(kept_programs[i], own);
        if (!strcmp(name, own))
            return false;
    }
    return true;
}

bool program_remove_old(bool dry_run)
{
    char path[PATH_BYTES];
    bool found = false;
    DIR *directory = state_exists("lib") && find_directory(path) ? opendir(path) : NULL;
    const struct dirent *entry;
    while (directory && (entry = readdir(directory)))
        if (entry->d_type != DT_DIR && is_other(entry->d_name))
            found |= dry_run || unlinkat(dirfd(directory), entry->d_name, 0) == 0;
    if (directory)
        (void)closedir(directory);
    return found;
}
