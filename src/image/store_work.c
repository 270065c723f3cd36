/* SPDX-License-Identifier: Apache-2.0 */
#include "image/store_work.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "image/settle.h"
#include "image/store_add.h"
#include "image/store_files.h"
#include "util/fs.h"
#include "util/own.h"

int store_open_lock(const struct image_store *store, struct hutch_error *err)
{
    int fd = openat(store->dir, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    return fd >= 0 ? fd : hutch_fail_errno(err, errno, "open the lock of the image store");
}

int store_begin_adding(const struct image_store *store, int *ret_lock, struct hutch_error *err)
{
    hutch_autofd int fd = store_open_lock(store, err);
    if (fd < 0)
        return fd;
    if (store_lock(fd, F_RDLCK, STORE_LOCK_CONTENT, true) < 0)
        return hutch_fail_errno(err, errno, "lock the image store");
    int r = settle_check(store, err);
    if (r < 0)
        return r;
    *ret_lock = HUTCH_TAKE_FD(fd);
    return 0;
}

int store_work_path(char ret_path[STORE_WORK_BYTES], struct hutch_error *err)
{
    unsigned long long id[2];
    if (getrandom(id, sizeof(id), 0) != (ssize_t)sizeof(id))
        return hutch_fail_errno(err, errno, "get random bytes");
    (void)snprintf(ret_path, STORE_WORK_BYTES, "tmp/%016llx%016llx", id[0], id[1]);
    return 0;
}

int store_sync_parent(int dir, const char *path)
{
    char parent[STORE_REFERENCE_PATH_BYTES];
    (void)snprintf(parent, sizeof(parent), "%s", path);
    char *slash = strrchr(parent, '/');
    if (slash)
        *slash = '\0';
    hutch_autofd int fd = openat(dir, parent, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -1 : fsync(fd);
}

static int write_work(int dir, const char *work, const char *text, size_t length)
{
    hutch_autofd int fd =
        openat(dir, work, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || hutch_write_all(fd, text, length) < 0)
        return -1;
    return fsync(fd);
}

int store_put_file(const struct image_store *store, const char *path, const char *text,
                   size_t length, bool replaces, struct hutch_error *err)
{
    char work[STORE_WORK_BYTES];
    int r = store_work_path(work, err);
    if (r < 0)
        return r;
    r = write_work(store->dir, work, text, length);
    if (r == 0)
        r = (int)syscall(SYS_renameat2, store->dir, work, store->dir, path,
                         replaces ? 0 : RENAME_NOREPLACE);
    if (r == 0)
        r = store_sync_parent(store->dir, path);
    if (r == 0)
        return 0;
    int cause = errno;
    (void)unlinkat(store->dir, work, 0);
    if (cause == EEXIST)
        return hutch_fail(err, HUTCH_E_CONFLICT, EEXIST, "'images/%.200s' is there already", path);
    return hutch_fail_errno(err, cause, "write 'images/%.200s'", path);
}
