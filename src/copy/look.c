/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at single files: what they are, what a directory holds, their bytes. A path is the
 * caller's own word, and the way to it is followed. What it leads to may change under our eyes: a
 * file is judged by its descriptor, and one that is no file is opened without waiting and let go.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "copy/entry.h"
#include "copy/half.h"
#include "tar/out.h"

static int tell(struct copy_entry *entry, const char *name, const char *target)
{
    char record[sizeof(*entry) + 2 * COPY_NAME_BYTES];
    entry->name_length = (uint32_t)strnlen(name, COPY_NAME_BYTES - 1);
    entry->target_length = (uint32_t)strnlen(target, COPY_NAME_BYTES - 1);
    memcpy(record, entry, sizeof(*entry));
    memcpy(record + sizeof(*entry), name, entry->name_length);
    memcpy(record + sizeof(*entry) + entry->name_length, target, entry->target_length);
    return tar_write_all(STDOUT_FILENO, record,
                         sizeof(*entry) + entry->name_length + entry->target_length);
}

static struct copy_entry entry_of(const struct stat *info)
{
    return (struct copy_entry){.mode = info->st_mode,
                               .uid = info->st_uid,
                               .gid = info->st_gid,
                               .size = (uint64_t)info->st_size,
                               .mtime_ns = (int64_t)info->st_mtim.tv_sec * 1000000000 +
                                           info->st_mtim.tv_nsec};
}

/* A link as a link. What is gone since is not told. */
static int tell_name(int dir, const char *path, const char *name)
{
    struct stat info;
    char target[COPY_NAME_BYTES] = "";
    if (fstatat(dir, path, &info, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 1 : -1;
    if (S_ISLNK(info.st_mode) && readlinkat(dir, path, target, sizeof(target) - 1) < 0)
        target[0] = '\0';
    struct copy_entry entry = entry_of(&info);
    return tell(&entry, name, target);
}

int half_stat(struct copy *copy, char *path, const char *name, struct tar_failure *failure)
{
    (void)copy, (void)name;
    const char *last = strrchr(path, '/');
    int status = tell_name(AT_FDCWD, path, last && last[1] ? last + 1 : path);
    return status ? half_fail(TAR_SOURCE, path, failure) : 0;
}

int half_list(struct copy *copy, char *path, const char *name, struct tar_failure *failure)
{
    (void)copy, (void)name;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir || tell_name(fd, ".", ".") < 0)
        return half_fail(TAR_SOURCE, path, failure);
    for (const struct dirent *entry; errno = 0, (entry = readdir(dir));) {
        bool is_dot = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
        if (!is_dot && tell_name(fd, entry->d_name, entry->d_name) < 0)
            return half_fail(TAR_SOURCE, path, failure);
    }
    return errno ? half_fail(TAR_SOURCE, path, failure) : 0;
}

/* Those of the kernel have no length, and a sandbox's own are not for copies. */
static bool is_file(int fd, const struct stat *info)
{
    struct statfs filesystem;
    return S_ISREG(info->st_mode) && fstatfs(fd, &filesystem) == 0 &&
           filesystem.f_type != PROC_SUPER_MAGIC && filesystem.f_type != SYSFS_MAGIC;
}

/* "FIRST-LAST", "FIRST-" or "-LENGTH", as RFC 9110 has them; "" is all of it. */
static bool choose_range(const char *range, struct copy_entry *entry)
{
    uint64_t first = 0, last = UINT64_MAX, size = entry->size;
    entry->length = size;
    if (!*range)
        return true;
    if (sscanf(range, "-%" SCNu64, &last) == 1) {
        first = last < size ? size - last : 0;
        size = last ? size : 0;
        last = UINT64_MAX;
    } else if (sscanf(range, "%" SCNu64 "-%" SCNu64, &first, &last) < 1 || first > last) {
        return false;
    }
    bool is_there = first < size;
    entry->start = is_there ? first : COPY_NOWHERE;
    entry->length = !is_there ? 0 : last < size ? last - first + 1 : size - first;
    return true;
}

/* No more than was said. Less, when the file has become shorter, shows on the other side. */
static int send(int fd, uint64_t at, uint64_t left)
{
    char *piece = malloc(COPY_PIECE_BYTES);
    ssize_t got = 1;
    while (piece && left && got > 0) {
        size_t part = left < COPY_PIECE_BYTES ? (size_t)left : COPY_PIECE_BYTES;
        got = pread(fd, piece, part, (off_t)at);
        if (got > 0 && tar_write_all(STDOUT_FILENO, piece, (size_t)got) < 0)
            got = -1;
        at += got > 0 ? (uint64_t)got : 0;
        left -= got > 0 ? (uint64_t)got : 0;
    }
    free(piece);
    return piece && got >= 0 ? 0 : -1;
}

int half_read(struct copy *copy, char *path, const char *name, struct tar_failure *failure)
{
    struct stat info;
    (void)copy;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) < 0)
        return half_fail(TAR_SOURCE, path, failure);
    if (!is_file(fd, &info)) {
        errno = S_ISDIR(info.st_mode) ? EISDIR : 0;
        return half_fail(S_ISDIR(info.st_mode) ? TAR_SOURCE : TAR_NO_FILE, path, failure);
    }
    struct copy_entry entry = entry_of(&info);
    if (!choose_range(name, &entry)) {
        errno = 0;
        return half_fail(TAR_OPTIONS, name, failure);
    }
    (void)posix_fadvise(fd, (off_t)entry.start, (off_t)entry.length, POSIX_FADV_SEQUENTIAL);
    if (tell(&entry, "", "") < 0 ||
        (entry.start != COPY_NOWHERE && send(fd, entry.start, entry.length) < 0))
        return half_fail(errno == EPIPE ? TAR_STREAM : TAR_SOURCE, path, failure);
    return 0;
}
