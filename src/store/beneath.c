/* SPDX-License-Identifier: Apache-2.0 */
#include "store/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/own.h"

#ifndef SYS_openat2
#define SYS_openat2 437
#endif

static int open_beneath(int dir, const char *name, int flags)
{
    struct open_how how = {
        .flags = (unsigned)(flags | O_NOFOLLOW | O_CLOEXEC),
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
    };
    long fd;
    do /* EAGAIN: a rename elsewhere kept the kernel from proving that this is beneath */
        fd = syscall(SYS_openat2, dir, name, &how, sizeof(how));
    while (fd < 0 && (errno == EAGAIN || errno == EINTR));
    return (int)fd;
}

int store_open_directory(int dir, const char *name)
{
    return open_beneath(dir, name, O_RDONLY | O_DIRECTORY);
}

/* O_PATH takes hold of an inode without opening it; only when it is known to be a regular file it
 * is opened, through the descriptor and not by its name, which may mean something else by now. */
int store_open_file(int dir, const char *name, struct stat *ret_info)
{
    char path[64];
    struct stat info;
    hutch_autofd int held = open_beneath(dir, name, O_PATH);
    if (held < 0 || fstat(held, &info) < 0)
        return -1;
    if (!S_ISREG(info.st_mode)) {
        errno = ENOTSUP;
        return -1;
    }
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", held);
    int fd = open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0 && ret_info)
        *ret_info = info;
    return fd;
}

int store_open_parent(int dir)
{
    return openat(dir, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int store_stat(int dir, const char *name, struct stat *ret_info)
{
    return fstatat(dir, name, ret_info, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT);
}

bool store_is_gone(int os_errno)
{
    return os_errno == ENOENT || os_errno == ENOTDIR || os_errno == ELOOP || os_errno == ESTALE ||
           os_errno == ENOTSUP;
}

bool store_is_same_inode(const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}
