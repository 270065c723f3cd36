/* SPDX-License-Identifier: Apache-2.0 */
/* Copies a host directory into the sandbox before anything runs there. Source entries that are
 * neither file, directory nor symlink are left out: a device or a FIFO has no place in a copy.
 * Depth is bounded by the descriptors a process may have. */
#include "init/init.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

static int copy_entry(int from, int to, const char *name, uid_t uid, gid_t gid);

static int finish(int to, const struct stat *info, uid_t uid, gid_t gid)
{
    const struct timespec times[2] = {info->st_atim, info->st_mtim};
    if (fchown(to, uid, gid) < 0 || fchmod(to, info->st_mode & 0777) < 0)
        return -1;
    return futimens(to, times);
}

static int copy_file(int from, int to, const char *name, const struct stat *info, uid_t uid,
                     gid_t gid)
{
    int in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (in < 0)
        return -1;
    int out = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int status = out < 0 ? -1 : 0;
    off_t left = info->st_size;
    while (status == 0 && left > 0) {
        ssize_t moved = sendfile(out, in, NULL, (size_t)left < 1u << 30 ? (size_t)left : 1u << 30);
        if (moved < 0)
            status = -1;
        if (moved <= 0)
            break;
        left -= moved;
    }
    if (status == 0)
        status = finish(out, info, uid, gid);
    close(in);
    if (out >= 0)
        close(out);
    return status;
}

static int copy_link(int from, int to, const char *name, uid_t uid, gid_t gid)
{
    char target[4096];
    ssize_t length = readlinkat(from, name, target, sizeof(target) - 1);
    if (length < 0)
        return -1;
    target[length] = '\0';
    if (symlinkat(target, to, name) < 0)
        return -1;
    return fchownat(to, name, uid, gid, AT_SYMLINK_NOFOLLOW);
}

static int copy_directory(int from, int to, const char *name, const struct stat *info, uid_t uid,
                          gid_t gid)
{
    if (mkdirat(to, name, 0700) < 0)
        return -1;
    int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int in = openat(from, name, flags);
    int out = openat(to, name, flags);
    int status = in < 0 || out < 0 ? -1 : copy_tree(in, out, uid, gid);
    if (status == 0)
        status = finish(out, info, uid, gid);
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    return status;
}

static int copy_entry(int from, int to, const char *name, uid_t uid, gid_t gid)
{
    struct stat info;
    if (fstatat(from, name, &info, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    if (S_ISDIR(info.st_mode))
        return copy_directory(from, to, name, &info, uid, gid);
    if (S_ISREG(info.st_mode))
        return copy_file(from, to, name, &info, uid, gid);
    if (S_ISLNK(info.st_mode))
        return copy_link(from, to, name, uid, gid);
    return 0;
}

int copy_tree(int from, int to, uid_t uid, gid_t gid)
{
    int reading = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = reading < 0 ? NULL : fdopendir(reading);
    if (!directory) {
        if (reading >= 0)
            close(reading);
        return -1;
    }
    int status = 0;
    struct dirent *entry;
    while (status == 0 && (errno = 0, entry = readdir(directory)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            status = copy_entry(reading, to, entry->d_name, uid, gid);
    if (status == 0 && errno)
        status = -1;
    int saved = errno;
    closedir(directory);
    errno = saved;
    return status;
}
