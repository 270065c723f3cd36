/* SPDX-License-Identifier: Apache-2.0 */
/* The quota pool: writable layers on disk with a real limit, on any filesystem and in microseconds.
 *
 * One sparse file in hutch's lib directory, formatted and mounted once, holds a directory per
 * sandbox: ext4 with project quota where the kernel has it, btrfs with a subvolume and qgroup per
 * sandbox otherwise. Needs root. */
#ifndef HUTCH_NATIVE_POOL_H
#define HUTCH_NATIVE_POOL_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/promise.h"
#include "util/error.h"
#include "util/strlist.h"

struct pool_kind;

/* A sandbox's place in the pool. */
struct pool_dir {
    int dir; /* the directory itself, negative when there is none */
    const struct pool_kind *kind;
    char path[512]; /* absolute, for the lease and for removal */
    uint64_t id;    /* project or subvolume id */
};

#define POOL_DIR_INIT        \
    {                        \
        -EBADF, NULL, {0}, 0 \
    }

/* Which of DISK and INODES a pool on this host can enforce; no pool is made. Empty when there can
 * be none: why says so. Before the first use it is the least that the pool will enforce. */
hutch_promise_set pool_enforces(char *why, size_t why_size);
/* Mounts the pool if need be (made on first use) and plans a directory's path, so that it can be
 * recorded before it is made. Until it is, dir is the pool's root, which keeps it mounted. */
int pool_open(struct pool_dir *dir, const char *id, struct hutch_error *err);
/* Makes the directory, owned by uid and gid and of mode 0755, with its limits; 0 is no limit. */
int pool_create(struct pool_dir *dir, uint64_t disk_bytes, uint64_t inodes, uid_t uid, gid_t gid,
                struct hutch_error *err);
/* Takes a directory that is there already, and sets its limits. */
int pool_adopt(struct pool_dir *dir, uint64_t disk_bytes, uint64_t inodes, struct hutch_error *err);
/* A second directory with the content of a first, which they share until either changes. */
int pool_snapshot(const char *from_id, const char *to_id, struct hutch_error *err);
/* Which of DISK and INODES can be set for this one; none when there is no directory. */
hutch_promise_set pool_limits(const struct pool_dir *dir);
/* Other limits for a directory that is there. */
int pool_set_limits(const struct pool_dir *dir, uint64_t disk_bytes, uint64_t inodes,
                    struct hutch_error *err);
/* Bytes used, and whether a limit (bytes or inodes) has been reached. 0, or -1 with errno. */
int pool_usage(const struct pool_dir *dir, uint64_t *ret_bytes, bool *ret_full);
/* Returns 0, or -1 with errno: then something is left, for a sweep to remove by its path. */
int pool_destroy(struct pool_dir *dir);
/* After a crash: removes a sandbox's directory by the path that was recorded. */
int pool_remove_path(const char *path);
/* The same by the id alone. */
int pool_remove_id(const char *id);
/* The paths of all directories in the pool, as far as it is mounted. */
int pool_list(struct hutch_strlist *paths, struct hutch_error *err);
/* Unmounts the pool when there is no directory in it and gives its loop device back. The file stays
 * unless it holds much that is of no use any more. Returns 1 when it was unmounted, 0 when there
 * was nothing to do or it is in use. With dry_run only tells. */
int pool_release(bool dry_run);
/* Removes a pool whose maker died before it was whole. Returns 1 when there was one. With dry_run
 * only tells. */
int pool_remove_half(bool dry_run);

#endif
