/* SPDX-License-Identifier: Apache-2.0 */
/* Brings what the command left in /artifacts to the host. The source is hostile: everything is
 * opened by descriptor without following links, links stay links, devices, sockets and FIFOs are
 * left out, set-id bits are dropped, depth, entries and bytes are bounded. Nobody writes to the
 * source any more: every process of the sandbox is dead. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/native/keeper.h"
#include "backend/native/source.h"
#include "util/fs.h"
#include "util/own.h"

#define MAX_DEPTH 64

struct collection {
    uint64_t max_bytes;
    uint64_t bytes_left;
    uint64_t entries_left;
    uid_t uid; /* of the target directory: what is brought out belongs to its owner */
    gid_t gid;
    int left_out; /* the code of what was left out, or 0 */
    struct hutch_error *err;
};

static int collect_directory(struct collection *to, int source, int target, unsigned depth);

static int fail_entry(const struct collection *to, const char *what, const char *name)
{
    return hutch_fail_errno(to->err, errno, "%s artifact '%.200s'", what, name);
}

/* The sandbox's user may have locked itself out; as root or as the same user we may still look. */
static int open_readable(int source, const char *name, int flags)
{
    int fd = openat(source, name, flags | O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 || errno != EACCES)
        return fd;
    if (fchmodat(source, name, 0700, 0) < 0)
        return -1;
    return openat(source, name, flags | O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

static int set_owner(const struct collection *to, int fd, mode_t mode)
{
    if (geteuid() == 0 && fchown(fd, to->uid, to->gid) < 0)
        return -1;
    return fchmod(fd, mode & 0777);
}

/* A hole costs nothing inside, so that a single file is easily longer than all that may come out.
 * It says nothing about the others: it is told, and they are brought. */
static int leave_out(struct collection *to, const char *name)
{
    errno = EFBIG;
    to->left_out = fail_entry(to, "write", name);
    return 0;
}

static int copy_content(struct collection *to, int in, int out, off_t size)
{
    /* sparse files are bounded by their length, not by what they occupy */
    if ((uint64_t)size > to->bytes_left) {
        errno = EFBIG;
        return -1;
    }
    to->bytes_left -= (uint64_t)size;
    while (size > 0) {
        ssize_t moved = sendfile(out, in, NULL, size < 1 << 30 ? (size_t)size : 1u << 30);
        if (moved < 0 && errno == EINTR)
            continue;
        if (moved < 0)
            return -1;
        if (moved == 0)
            break;
        size -= moved;
    }
    return 0;
}

/* Written under a name of its own first: a reader on the host never sees half a file, and a symlink
 * that waits in the target directory is replaced, not followed. */
static int collect_file(struct collection *to, int source, int target, const char *name,
                        const struct stat *info)
{
    static const char temporary[] = ".hutch-artifact";
    if ((uint64_t)info->st_size > to->max_bytes)
        return leave_out(to, name);
    hutch_autofd int in = open_readable(source, name, 0);
    if (in < 0)
        return fail_entry(to, "read", name);
    (void)unlinkat(target, temporary, 0);
    hutch_autofd int out =
        openat(target, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (out < 0)
        return fail_entry(to, "write", name);
    if (copy_content(to, in, out, info->st_size) < 0 || set_owner(to, out, info->st_mode) < 0 ||
        renameat(target, temporary, target, name) < 0) {
        int saved = errno;
        (void)unlinkat(target, temporary, 0);
        errno = saved;
        return fail_entry(to, "write", name);
    }
    return 0;
}

static int collect_link(struct collection *to, int source, int target, const char *name)
{
    char text[PATH_MAX];
    ssize_t length = readlinkat(source, name, text, sizeof(text) - 1);
    if (length < 0)
        return fail_entry(to, "read", name);
    text[length] = '\0';
    if (symlinkat(text, target, name) < 0) {
        if (errno != EEXIST || unlinkat(target, name, 0) < 0 || symlinkat(text, target, name) < 0)
            return fail_entry(to, "write", name);
    }
    if (geteuid() == 0 && fchownat(target, name, to->uid, to->gid, AT_SYMLINK_NOFOLLOW) < 0)
        return fail_entry(to, "write", name);
    return 0;
}

static int collect_subdirectory(struct collection *to, int source, int target, const char *name,
                                const struct stat *info, unsigned depth)
{
    hutch_autofd int in = open_readable(source, name, O_DIRECTORY);
    if (in < 0)
        return fail_entry(to, "read", name);
    if (mkdirat(target, name, 0700) < 0 && errno != EEXIST)
        return fail_entry(to, "write", name);
    hutch_autofd int out = openat(target, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (out < 0)
        return fail_entry(to, "write", name);
    int status = collect_directory(to, in, out, depth + 1);
    if (status == 0 && set_owner(to, out, info->st_mode | 0700) < 0)
        return fail_entry(to, "write", name);
    return status;
}

static int collect_entry(struct collection *to, int source, int target, const char *name,
                         unsigned depth)
{
    struct stat info;
    if (!to->entries_left--)
        return hutch_fail(to->err, HUTCH_E_SYSTEM, 0,
                          "/artifacts holds too many files to bring out");
    if (fstatat(source, name, &info, AT_SYMLINK_NOFOLLOW) < 0)
        return fail_entry(to, "look at", name);
    if (S_ISDIR(info.st_mode))
        return collect_subdirectory(to, source, target, name, &info, depth);
    if (S_ISREG(info.st_mode))
        return collect_file(to, source, target, name, &info);
    if (S_ISLNK(info.st_mode))
        return collect_link(to, source, target, name);
    return 0;
}

static int collect_directory(struct collection *to, int source, int target, unsigned depth)
{
    if (depth > MAX_DEPTH)
        return hutch_fail(to->err, HUTCH_E_SYSTEM, 0,
                          "/artifacts is nested more than %d directories deep", MAX_DEPTH);
    int reading = openat(source, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = reading < 0 ? NULL : fdopendir(reading);
    if (!directory) {
        hutch_fd_close(&reading);
        return hutch_fail_errno(to->err, errno, "read /artifacts");
    }
    int status = 0;
    struct dirent *entry;
    while (status == 0 && (entry = readdir(directory)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            status = collect_entry(to, source, target, entry->d_name, depth);
    (void)closedir(directory);
    return status;
}

/* The last part of a path that a policy has allowed, in the directory that it was allowed in. */
static int open_confined(const char *path)
{
    char directory[PATH_MAX];
    const char *name = strrchr(path, '/') + 1;
    (void)snprintf(directory, sizeof(directory), "%.*s", (int)(name - path), path);
    hutch_autofd int parent = source_open_resolved(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (parent < 0)
        return -1;
    if (mkdirat(parent, *name ? name : ".", 0755) < 0 && errno != EEXIST)
        return -1;
    return openat(parent, *name ? name : ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int open_anywhere(const char *path)
{
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        return -1;
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int artifacts_open(const struct hutch_spec *spec, struct hutch_error *err)
{
    const char *path = spec->artifacts;
    bool is_confined = spec->policy.hash != NULL;
    hutch_autofd int fd = is_confined ? open_confined(path) : open_anywhere(path);
    if (fd < 0 && is_confined && errno == ELOOP)
        return source_fail_link(path, err);
    if (fd < 0)
        return hutch_fail_errno(err, errno, "open artifacts directory '%.300s'", path);
    if (faccessat(fd, ".", W_OK, AT_EACCESS) < 0)
        return hutch_fail_errno(err, errno, "write to artifacts directory '%.300s'", path);
    return HUTCH_TAKE_FD(fd);
}

int artifacts_collect(int source, int target, uint64_t max_bytes, uint64_t max_entries,
                      struct hutch_error *err)
{
    struct stat info;
    if (fstat(target, &info) < 0)
        return hutch_fail_errno(err, errno, "look at the artifacts directory");
    struct collection to = {
        .max_bytes = max_bytes,
        .bytes_left = max_bytes,
        .entries_left = max_entries,
        .uid = info.st_uid,
        .gid = info.st_gid,
        .err = err,
    };
    int status = collect_directory(&to, source, target, 0);
    return status < 0 ? status : to.left_out;
}
