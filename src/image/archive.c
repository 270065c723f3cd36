/* SPDX-License-Identifier: Apache-2.0 */
#include "image/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/own.h"

struct archive {
    int fd;
    bool is_directory;
    struct archive_members members; /* of a tar archive */
};

static int open_path(const char *path, struct hutch_error *err)
{
    int fd = !strcmp(path, "-") ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                                : open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? hutch_fail_errno(err, errno, "open '%.200s'", path) : fd;
}

/* A file that can be read at any place. Takes the descriptor over, also on failure. */
static int make_seekable(const struct image_store *store, int given, mode_t mode,
                         struct hutch_error *err)
{
    hutch_autofd int fd = given;
    if (S_ISREG(mode) && lseek(fd, 0, SEEK_CUR) == 0 && !archive_is_compressed(fd, 0))
        return HUTCH_TAKE_FD(fd);
    return archive_spool(store, fd, err);
}

int archive_open(const struct image_store *store, const char *path, struct archive **ret_archive,
                 struct hutch_error *err)
{
    struct stat info;
    hutch_autofd int fd = open_path(path, err);
    if (fd < 0)
        return fd;
    if (fstat(fd, &info) < 0)
        return hutch_fail_errno(err, errno, "look at '%.200s'", path);
    hutch_autofree struct archive *archive = calloc(1, sizeof(*archive));
    if (!archive)
        return hutch_fail_nomem(err);
    archive->is_directory = S_ISDIR(info.st_mode);
    if (!archive->is_directory) {
        fd = make_seekable(store, fd, info.st_mode, err);
        if (fd < 0 || archive_tar_list(fd, &archive->members, err) < 0)
            return hutch_wrap(err, "read '%.200s': ", path);
    }
    archive->fd = HUTCH_TAKE_FD(fd);
    *ret_archive = HUTCH_TAKE_PTR(archive);
    return 0;
}

void archive_free(struct archive *archive)
{
    if (!archive)
        return;
    hutch_fd_close(&archive->fd);
    archive_members_done(&archive->members);
    free(archive);
}

static int fail_missing(const char *name, struct hutch_error *err)
{
    return hutch_fail(err, HUTCH_E_INVALID, 0, "the archive has no file '%.200s'", name);
}

/* No symlink in the directory counts: an OCI layout has none. */
static int find_in_directory(int dir, const char *name, struct archive_file *ret_file,
                             struct hutch_error *err)
{
    struct open_how how = {.flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV};
    struct stat info;
    hutch_autofd int fd = (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));
    if (fd < 0 && errno == ENOENT)
        return fail_missing(name, err);
    if (fd < 0 || fstat(fd, &info) < 0)
        return hutch_fail_errno(err, errno, "open '%.200s' in the layout", name);
    if (!S_ISREG(info.st_mode))
        return hutch_fail(err, HUTCH_E_INVALID, 0, "'%.200s' in the layout is not a file", name);
    *ret_file = (struct archive_file){
        .fd = HUTCH_TAKE_FD(fd), .owns_fd = true, .left = (uint64_t)info.st_size};
    return 0;
}

int archive_find(const struct archive *archive, const char *name, struct archive_file *ret_file,
                 struct hutch_error *err)
{
    if (archive->is_directory)
        return find_in_directory(archive->fd, name, ret_file, err);
    const struct archive_member *member = archive_members_find(&archive->members, name);
    if (!member)
        return fail_missing(name, err);
    *ret_file =
        (struct archive_file){.fd = archive->fd, .at = member->offset, .left = member->size};
    return 0;
}

bool archive_has(const struct archive *archive, const char *name)
{
    struct archive_file file = ARCHIVE_FILE_INIT;
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    bool found = archive_find(archive, name, &file, &ignored) == 0;
    archive_file_done(&file);
    return found;
}

ssize_t archive_file_read(void *context, void *buffer, size_t size, struct hutch_error *err)
{
    struct archive_file *file = context;
    ssize_t got = 0;
    size = file->left < size ? (size_t)file->left : size;
    if (size == 0)
        return 0;
    do
        got = pread(file->fd, buffer, size, (off_t)file->at);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return hutch_fail_errno(err, errno, "read the archive");
    if (got == 0)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "the archive became shorter while it was read");
    file->at += (uint64_t)got;
    file->left -= (uint64_t)got;
    return got;
}

void archive_file_done(struct archive_file *file)
{
    if (file->owns_fd)
        hutch_fd_close(&file->fd);
    file->fd = HUTCH_NO_FD;
}

int archive_read_text(const struct archive *archive, const char *name, size_t ceiling,
                      char **ret_text, size_t *ret_length, struct hutch_error *err)
{
    hutch_cleanup(archive_file_done) struct archive_file file = ARCHIVE_FILE_INIT;
    if (archive_find(archive, name, &file, err) < 0)
        return -(int)err->code;
    if (file.left > ceiling)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "'%.200s' in the archive has %llu bytes, of at most %zu", name,
                          (unsigned long long)file.left, ceiling);
    size_t length = (size_t)file.left, have = 0;
    hutch_autofree char *text = malloc(length + 1);
    if (!text)
        return hutch_fail_nomem(err);
    while (have < length) {
        ssize_t got = archive_file_read(&file, text + have, length - have, err);
        if (got < 0)
            return (int)got;
        have += (size_t)got;
    }
    text[length] = '\0';
    *ret_text = HUTCH_TAKE_PTR(text);
    *ret_length = length;
    return 0;
}
