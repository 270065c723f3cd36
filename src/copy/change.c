/* SPDX-License-Identifier: Apache-2.0 */
/* Changing single files: one is written, one or a tree removed. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "copy/entry.h"
#include "copy/half.h"
#include "tar/draft.h"
#include "tar/out.h"
#include "util/remove_tree.h"

/* What has been written goes to the disk, and out of the cache, which counts as the sandbox's
 * memory. */
#define SETTLE_BYTES (UINT64_C(16) << 20)

/* 1, 0 at the stream's end, -1 with errno. */
static int read_all(char *target, size_t length)
{
    while (length) {
        ssize_t got = read(STDIN_FILENO, target, length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return (int)got;
        target += got;
        length -= (size_t)got;
    }
    return 1;
}

static void settle(int fd, uint64_t before, uint64_t now)
{
    uint64_t from = before > SETTLE_BYTES ? before - SETTLE_BYTES : 0;
    (void)sync_file_range(fd, (off_t)before, (off_t)(now - before), SYNC_FILE_RANGE_WRITE);
    if (from < before) { /* the piece before has had its time */
        (void)sync_file_range(fd, (off_t)from, (off_t)(before - from),
                              SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                                  SYNC_FILE_RANGE_WAIT_AFTER);
        (void)posix_fadvise(fd, (off_t)from, (off_t)(before - from), POSIX_FADV_DONTNEED);
    }
}

/* The pieces up to the one that says that they were all. */
static int fill(int fd, char *piece, const char *path, struct tar_failure *failure)
{
    uint64_t written = 0, settled = 0;
    for (;;) {
        uint32_t length = 0;
        if (read_all((char *)&length, sizeof(length)) <= 0 || length > COPY_PIECE_BYTES)
            break;
        if (length == 0)
            return 0;
        if (read_all(piece, length) <= 0)
            break;
        if (tar_write_all(fd, piece, length) < 0)
            return half_fail(TAR_TARGET, path, failure);
        written += length;
        if (written - settled >= SETTLE_BYTES) {
            settle(fd, settled, written);
            settled = written;
        }
    }
    errno = 0;
    return half_fail(TAR_TRUNCATED, path, failure);
}

/* Who has no number in this place cannot own anything there. */
static int apply(const struct copy *copy, int fd, mode_t mode)
{
    if (copy->keeps_owners && copy->maps_owners &&
        fchown(fd, copy->inside.uid, copy->inside.gid) < 0 && errno != EOVERFLOW)
        return -1;
    return fchmod(fd, mode);
}

static int open_draft(struct copy *copy, int dir, struct tar_draft *draft)
{
    struct stat info;
    if (tar_draft_open(draft, dir) >= 0)
        return 0;
    if (errno != EOVERFLOW || !copy->keeps_owners || fstat(dir, &info) < 0)
        return -1;
    half_become(copy, info.st_uid, info.st_gid);
    return tar_draft_open(draft, dir) < 0 ? -1 : 0;
}

static int check_place(int dir, const char *name, const char *path, struct tar_failure *failure)
{
    struct stat info;
    if (fstatat(dir, name, &info, AT_SYMLINK_NOFOLLOW) < 0 || S_ISREG(info.st_mode) ||
        S_ISLNK(info.st_mode))
        return 0;
    errno = S_ISDIR(info.st_mode) ? EISDIR : 0;
    return half_fail(errno ? TAR_TARGET : TAR_SPECIAL, path, failure);
}

/* name: the mode, in octal digits. */
int half_put(struct copy *copy, char *path, const char *name, struct tar_failure *failure)
{
    struct tar_draft draft;
    char whole[256];
    const char *last;
    mode_t mode = (mode_t)strtoul(name, NULL, 8) & 0777;
    (void)snprintf(whole, sizeof(whole), "%s", path);
    int dir = half_open_parent(path, &last, failure);
    if (dir < 0 || check_place(dir, last, whole, failure) < 0)
        return -1;
    char *piece = malloc(COPY_PIECE_BYTES);
    if (!piece || open_draft(copy, dir, &draft) < 0)
        return half_fail(piece ? TAR_TARGET : TAR_MEMORY, whole, failure);
    int status = fill(draft.fd, piece, whole, failure);
    if (status == 0 &&
        (apply(copy, draft.fd, mode) < 0 || tar_draft_publish(&draft, dir, last) < 0))
        status = half_fail(TAR_TARGET, whole, failure);
    if (status < 0)
        tar_draft_drop(&draft, dir);
    if (close(draft.fd) < 0 &&
        status == 0) { /* some filesystems tell only now that they are full */
        status = half_fail(TAR_TARGET, whole, failure);
        (void)unlinkat(dir, last, 0);
    }
    return status;
}

/* name: "tree" where a directory goes with all it holds. A link goes, not what it leads to. */
int half_remove(struct copy *copy, char *path, const char *name, struct tar_failure *failure)
{
    char whole[256];
    const char *last;
    struct stat info;
    (void)copy;
    (void)snprintf(whole, sizeof(whole), "%s", path);
    int dir = half_open_parent(path, &last, failure);
    if (dir < 0)
        return -1;
    if (fstatat(dir, last, &info, AT_SYMLINK_NOFOLLOW) < 0)
        return half_fail(TAR_TARGET, whole, failure);
    int status = !S_ISDIR(info.st_mode)  ? unlinkat(dir, last, 0)
                 : !strcmp(name, "tree") ? remove_tree(dir, last)
                                         : unlinkat(dir, last, AT_REMOVEDIR);
    return status < 0 ? half_fail(TAR_TARGET, whole, failure) : 0;
}
