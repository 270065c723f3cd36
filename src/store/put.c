/* SPDX-License-Identifier: Apache-2.0 */
#include "store/put.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "store/apply.h"
#include "store/beneath.h"
#include "store/compare.h"
#include "util/own.h"

#define PIECE_BYTES ((size_t)1 << 30)
static const char temporary[] = HUTCH_APPLY_TEMPORARY;

void store_put_clean(int dir)
{
    int saved = errno;
    if (unlinkat(dir, temporary, 0) < 0 && errno != ENOENT)
        (void)unlinkat(dir, temporary, AT_REMOVEDIR);
    errno = saved;
}

/* ---- content ---- */

static int copy_range(int in, int out, off_t from, off_t to)
{
    if (lseek(out, from, SEEK_SET) < 0)
        return -1;
    while (from < to) {
        size_t left = (size_t)(to - from);
        ssize_t moved = sendfile(out, in, &from, left < PIECE_BYTES ? left : PIECE_BYTES);
        if (moved < 0 && errno == EINTR)
            continue;
        if (moved < 0)
            return -1;
        if (moved == 0) /* it was cut short meanwhile */
            break;
    }
    return 0;
}

/* Holes stay holes: a sandbox can make a file far larger than its disk. */
static int copy_content(int in, int out, off_t size)
{
    if (ftruncate(out, size) < 0)
        return -1;
    for (off_t at = 0; at < size;) {
        off_t data = lseek(in, at, SEEK_DATA);
        if (data < 0 && errno == ENXIO)
            break;
        off_t hole = data < 0 ? -1 : lseek(in, data, SEEK_HOLE);
        if (data < 0 || hole < 0) /* a filesystem that does not know */
            data = at, hole = size;
        if (hole > size)
            hole = size;
        if (data < hole && copy_range(in, out, data, hole) < 0)
            return -1;
        at = hole > at ? hole : size;
    }
    return 0;
}

/* ---- making it under the temporary name ---- */

static int set_owner(const struct store_put *put, int dir, const char *name)
{
    if (put->uid == (uid_t)-1 && put->gid == (gid_t)-1)
        return 0;
    int flags = *name ? AT_SYMLINK_NOFOLLOW : AT_EMPTY_PATH;
    if (fchownat(dir, name, put->uid, put->gid, flags) == 0)
        return 0;
    return put->may_keep_owner && errno == EPERM ? 0 : -1;
}

static int make_file(const struct store_put *put, int *ret_fd)
{
    struct stat info;
    hutch_autofd int in = store_open_file(put->upper_dir, put->name, &info);
    if (in < 0)
        return -1;
    hutch_autofd int out = openat(put->lower_dir, temporary,
                                  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (out < 0 || copy_content(in, out, info.st_size) < 0 || set_owner(put, out, "") < 0 ||
        fchmod(out, put->mode & 07777) < 0 || (put->sync && fsync(out) < 0))
        return -1;
    *ret_fd = HUTCH_TAKE_FD(out);
    return 0;
}

static int hold_temporary(const struct store_put *put, int *ret_fd)
{
    *ret_fd = openat(put->lower_dir, temporary, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    return *ret_fd < 0 ? -1 : 0;
}

static int make_link(const struct store_put *put, int *ret_fd)
{
    hutch_autofree char *target = NULL;
    if (store_read_link(put->upper_dir, put->name, &target) < 0 ||
        symlinkat(target, put->lower_dir, temporary) < 0 ||
        set_owner(put, put->lower_dir, temporary) < 0)
        return -1;
    return hold_temporary(put, ret_fd);
}

static int make_directory(const struct store_put *put, int *ret_fd)
{
    if (mkdirat(put->lower_dir, temporary, 0700) < 0)
        return -1;
    hutch_autofd int fd = store_open_directory(put->lower_dir, temporary);
    if (fd < 0 || set_owner(put, fd, "") < 0 || fchmod(fd, put->mode & 07777) < 0)
        return -1;
    *ret_fd = HUTCH_TAKE_FD(fd);
    return 0;
}

static int make(const struct store_put *put, int *ret_fd)
{
    switch (put->mode & S_IFMT) {
    case S_IFREG:
        return make_file(put, ret_fd);
    case S_IFLNK:
        return make_link(put, ret_fd);
    case S_IFDIR:
        return make_directory(put, ret_fd);
    default:
        errno = ENOTSUP;
        return -1;
    }
}

/* ---- and giving it its name ---- */

static int require_known(int dir, const char *name, const struct stat *known)
{
    struct stat info;
    if (store_stat(dir, name, &info) < 0)
        return -1;
    if (store_is_same_inode(&info, known) && info.st_ctim.tv_sec == known->st_ctim.tv_sec &&
        info.st_ctim.tv_nsec == known->st_ctim.tv_nsec)
        return 0;
    errno = EBUSY;
    return -1;
}

static int rename_to_new(int dir, const char *name)
{
    struct stat info;
    if (syscall(SYS_renameat2, dir, temporary, dir, name, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    if (store_stat(dir, name, &info) == 0) /* a filesystem without the flag */
        errno = EEXIST;
    return errno == ENOENT ? renameat(dir, temporary, dir, name) : -1;
}

/* fd holds what was made: another process that uses the temporary name has not replaced it. */
static int give_name(const struct store_put *put, int fd)
{
    struct stat made, info;
    if (fstat(fd, &made) < 0 || store_stat(put->lower_dir, temporary, &info) < 0)
        return -1;
    if (!store_is_same_inode(&made, &info)) {
        errno = EBUSY;
        return -1;
    }
    if (!put->replaced)
        return rename_to_new(put->lower_dir, put->name);
    if (require_known(put->lower_dir, put->name, put->replaced) < 0)
        return -1;
    return renameat(put->lower_dir, temporary, put->lower_dir, put->name);
}

int store_put(const struct store_put *put)
{
    hutch_autofd int fd = HUTCH_NO_FD;
    store_put_clean(put->lower_dir);
    if (make(put, &fd) == 0 && give_name(put, fd) == 0)
        return 0;
    store_put_clean(put->lower_dir);
    return -1;
}

int store_remove(int dir, const char *name, const struct stat *known)
{
    return require_known(dir, name, known) < 0 ? -1 : unlinkat(dir, name, 0);
}

/* By descriptor, without opening it: its name may be a link by now, and it may be unreadable. */
int store_put_metadata(const struct store_put *put)
{
    char path[64];
    struct stat info;
    hutch_autofd int held = openat(put->lower_dir, put->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (held < 0 || fstat(held, &info) < 0)
        return -1;
    if (!store_is_same_inode(&info, put->replaced)) {
        errno = EBUSY;
        return -1;
    }
    if (set_owner(put, held, "") < 0)
        return -1;
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", held);
    return S_ISLNK(info.st_mode) ? 0 : chmod(path, put->mode & 07777);
}
