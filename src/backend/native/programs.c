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

/* "programs/NAME-SUM" in the state. */
static void name_copy(const struct program *program, char name[NAME_BYTES])
{
    (void)snprintf(name, NAME_BYTES, "%s-%s", program->name, program->sum);
}

static bool find_directory(char path[PATH_BYTES])
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    if (state_directory("lib", path, PATH_BYTES - sizeof(DIRECTORY) - NAME_BYTES, &ignored) < 0)
        return false;
    memcpy(path + strlen(path), DIRECTORY, sizeof(DIRECTORY));
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
 * nothing. Where that is not possible there is no copy. */
static void make_copy(const struct program *program, const char *directory, const char *path)
{
    (void)mkdir(directory, 0700);
    hutch_autofd int fd = open(directory, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0 || !may_execute(fd) || hutch_write_all(fd, program->image, program->length) < 0 ||
        fchmod(fd, program->mode) < 0 || fdatasync(fd) < 0)
        return;
    (void)!linkat(fd, "", AT_FDCWD, path, AT_EMPTY_PATH); /* another may have been faster */
}

int program_open(const struct program *program, bool privileged, struct hutch_error *err)
{
    char directory[PATH_BYTES], name[NAME_BYTES], path[PATH_BYTES + NAME_BYTES];
    if (privileged && find_directory(directory)) {
        name_copy(program, name);
        (void)snprintf(path, sizeof(path), "%s/%s", directory, name);
        int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0 && is_copy(fd, program))
            return keep_clear(fd, err);
        if (fd >= 0 || errno == ELOOP)
            (void)unlink(path);
        hutch_fd_close(&fd);
        make_copy(program, directory, path);
    }
    return program_memfd(program->name, program->image, program->length, err);
}

static bool is_other(const char *name)
{
    for (size_t i = 0; i < HUTCH_COUNT(kept_programs); i++) {
        char own[NAME_BYTES];
        name_copy(kept_programs[i], own);
        if (!strcmp(name, own))
            return false;
    }
    return name[0] != '.';
}

size_t program_remove_old(bool dry_run)
{
    char path[PATH_BYTES];
    size_t count = 0;
    DIR *directory = state_exists("lib") && find_directory(path) ? opendir(path) : NULL;
    const struct dirent *entry;
    while (directory && (entry = readdir(directory)))
        if (is_other(entry->d_name) &&
            (dry_run || unlinkat(dirfd(directory), entry->d_name, 0) == 0))
            count++;
    if (directory)
        (void)closedir(directory);
    return count;
}
