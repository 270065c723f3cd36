/* SPDX-License-Identifier: Apache-2.0 */
/* A pool on btrfs: a subvolume per sandbox, and the qgroup that each subvolume has. Simple quotas
 * (Linux 6.7) where the kernel has them, since they cost nothing when a subvolume goes; full
 * qgroups otherwise.
 *
 * There is no quota for inodes: they are counted as the bytes of metadata they take, about 400 for
 * an empty file.
 *
 * A write is refused with EDQUOT when what the qgroup refers to and what is reserved for writes on
 * their way exceed the limit. Before it refuses, the kernel writes everything out and commits, so
 * that reservations become references (try_flush_qgroup in fs/btrfs/qgroup.c): after a refusal
 * "referenced" is at the limit, less what the refused write asked for. It stays there until the
 * next commit even when the sandbox removes files in the meantime. The sum with the reservations
 * would not do: it touches the limit whenever a flush is due, also when everything fits afterwards.
 * Not seen is the refusal of one large request, all or nothing, such as fallocate. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/native/pool_kind.h"
#include "util/fs.h"
#include "util/kernel.h"
#include "util/own.h"
#include "util/remove_tree.h"

#ifndef BTRFS_QUOTA_CTL_ENABLE_SIMPLE_QUOTA
#define BTRFS_QUOTA_CTL_ENABLE_SIMPLE_QUOTA 4
#endif

/* Looking for the qgroups of subvolumes that are gone costs as much as there are qgroups: once for
 * so many removals. */
#define REMOVALS_PER_PRUNING 64
#define MOST_PRUNED 256

static const char *const modules[] = {"btrfs", NULL};

/* One copy of everything: the disk below is what it is. Small nodes, because each item that a
 * change may touch is reserved as a whole node: with 16 KiB a new file is refused 80 KiB before
 * the limit. */
static const char *const arguments[] = {"-q", "-f",     "-K", "-m",   "single",
                                        "-d", "single", "-n", "4096", NULL};

/* nodatacow: a file that is overwritten does not take room twice. discard: what a sandbox frees,
 * the file frees. */
static const struct pool_option options[] = {
    {"nodatacow", NULL}, {"discard", "async"}, {NULL, NULL}};

/* "/sys/fs/btrfs/<uuid>/qgroups" */
static int open_qgroups(int fd)
{
    struct btrfs_ioctl_fs_info_args info = {0};
    char path[80] = "/sys/fs/btrfs/";
    size_t length = strlen(path);
    if (pool_ioctl(fd, BTRFS_IOC_FS_INFO, &info) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(info.fsid); i++)
        length += (size_t)snprintf(path + length, sizeof(path) - length, "%s%02x",
                                   i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", info.fsid[i]);
    (void)snprintf(path + length, sizeof(path) - length, "/qgroups");
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Is the subvolume still in the tree of roots? It is until the last block of it has been freed. */
static bool subvolume_exists(int root, uint64_t id)
{
    struct btrfs_ioctl_search_args search = {
        .key = {.tree_id = BTRFS_ROOT_TREE_OBJECTID,
                .min_objectid = id,
                .max_objectid = id,
                .min_type = BTRFS_ROOT_ITEM_KEY,
                .max_type = BTRFS_ROOT_ITEM_KEY,
                .max_offset = UINT64_MAX,
                .max_transid = UINT64_MAX,
                .nr_items = 1},
    };
    return pool_ioctl(root, BTRFS_IOC_TREE_SEARCH, &search) < 0 || search.key.nr_items > 0;
}

static size_t find_stale(int root, uint64_t ids[MOST_PRUNED])
{
    int fd = open_qgroups(root);
    DIR *qgroups = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    size_t count = 0;
    if (!qgroups) {
        hutch_fd_close(&fd);
        return 0;
    }
    while (count < MOST_PRUNED && (entry = readdir(qgroups))) {
        uint64_t id =
            strncmp(entry->d_name, "0_", 2) != 0 ? 0 : strtoull(entry->d_name + 2, NULL, 10);
        if (id >= BTRFS_FIRST_FREE_OBJECTID && !subvolume_exists(root, id))
            ids[count++] = id;
    }
    (void)closedir(qgroups);
    return count;
}

/* That the last blocks of a subvolume are free is counted when the transaction commits, though the
 * subvolume is gone already: a qgroup that is missing then has the whole filesystem stop in
 * read-only. Since Linux 6.11 the kernel does all of it. */
static void prune_qgroups(int root)
{
    uint64_t ids[MOST_PRUNED];
    if (hutch_kernel_is_at_least(6, 11))
        return;
    size_t count = find_stale(root, ids);
    if (!count || pool_ioctl(root, BTRFS_IOC_SYNC, NULL) < 0)
        return;
    for (size_t i = 0; i < count; i++) {
        struct btrfs_ioctl_qgroup_create_args stale = {.create = 0, .qgroupid = ids[i]};
        (void)pool_ioctl(root, BTRFS_IOC_QGROUP_CREATE, &stale);
    }
}

/* Switching on what is on already does nothing. */
static int btrfs_prepare(int root, struct hutch_error *err)
{
    struct btrfs_ioctl_quota_ctl_args simple = {.cmd = BTRFS_QUOTA_CTL_ENABLE_SIMPLE_QUOTA};
    struct btrfs_ioctl_quota_ctl_args full = {.cmd = BTRFS_QUOTA_CTL_ENABLE};
    if (pool_ioctl(root, BTRFS_IOC_QUOTA_CTL, &simple) < 0 &&
        pool_ioctl(root, BTRFS_IOC_QUOTA_CTL, &full) < 0)
        return hutch_fail_errno(err, errno, "switch the quotas of btrfs on");
    hutch_autofd int qgroups = open_qgroups(root);
    if (qgroups < 0)
        return hutch_fail_errno(err, errno, "read the quotas of btrfs in /sys/fs/btrfs");
    prune_qgroups(root);
    return 0;
}

static int btrfs_make(int root, const char *name)
{
    struct btrfs_ioctl_vol_args_v2 args = {0};
    (void)snprintf(args.name, sizeof(args.name), "%s", name);
    return pool_ioctl(root, BTRFS_IOC_SUBVOL_CREATE_V2, &args);
}

static int btrfs_snapshot(int root, int source, const char *name)
{
    struct btrfs_ioctl_vol_args_v2 args = {.fd = source};
    (void)snprintf(args.name, sizeof(args.name), "%s", name);
    return pool_ioctl(root, BTRFS_IOC_SNAP_CREATE_V2, &args);
}

static int subvolume_id(int dir, uint64_t *ret_id)
{
    struct btrfs_ioctl_ino_lookup_args lookup = {.objectid = BTRFS_FIRST_FREE_OBJECTID};
    if (pool_ioctl(dir, BTRFS_IOC_INO_LOOKUP, &lookup) < 0)
        return -1;
    *ret_id = lookup.treeid;
    return 0;
}

/* A subvolume has its qgroup before it is in the tree of roots: another process that prunes at that
 * moment takes it for a stale one. Then it is made again; it has nothing to count yet.
 *
 * Asked of the pool's root: a transaction reserves room in the subvolume that it is begun on, and
 * one that is over its limit has none, not even for a higher limit. */
static int btrfs_limit(int dir, uint64_t disk_bytes, uint64_t inodes, uint64_t *ret_id)
{
    uint64_t id;
    (void)inodes;
    hutch_autofd int root = openat(dir, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0 || subvolume_id(dir, &id) < 0)
        return -1;
    struct btrfs_ioctl_qgroup_limit_args args = {
        .qgroupid = id,
        .lim = {.flags = BTRFS_QGROUP_LIMIT_MAX_RFER,
                .max_rfer = disk_bytes ? disk_bytes : UINT64_MAX},
    };
    struct btrfs_ioctl_qgroup_create_args again = {.create = 1, .qgroupid = id};
    int status = pool_ioctl(root, BTRFS_IOC_QGROUP_LIMIT, &args);
    if (status < 0 && errno == ENOENT &&
        (pool_ioctl(root, BTRFS_IOC_QGROUP_CREATE, &again) == 0 || errno == EEXIST))
        status = pool_ioctl(root, BTRFS_IOC_QGROUP_LIMIT, &args);
    if (status < 0)
        return -1;
    *ret_id = id;
    return 0;
}

static int btrfs_usage(const struct pool_dir *dir, uint64_t *ret_bytes, bool *ret_full)
{
    char name[32];
    uint64_t referenced, limit, reserved;
    hutch_autofd int qgroups = open_qgroups(dir->dir);
    (void)snprintf(name, sizeof(name), "0_%llu", (unsigned long long)dir->id);
    hutch_autofd int qgroup =
        qgroups < 0 ? -1 : openat(qgroups, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (qgroup < 0)
        return -1;
    if (!hutch_read_number_at(qgroup, "referenced", NULL, &referenced) ||
        !hutch_read_number_at(qgroup, "max_referenced", NULL, &limit) ||
        !hutch_read_number_at(qgroup, "rsv_data", NULL, &reserved)) {
        errno = EIO;
        return -1;
    }
    *ret_bytes = referenced + reserved;
    *ret_full = limit && referenced + POOL_SLACK_BYTES > limit;
    return 0;
}

/* A subvolume goes at once and its blocks later, by a thread of the kernel. One that has others
 * within goes like a tree. */
static int btrfs_remove(int root, const char *name)
{
    struct btrfs_ioctl_vol_args args = {0};
    uint64_t id = 0;
    int dir = openat(root, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0)
        return -1;
    (void)subvolume_id(dir, &id);
    hutch_fd_close(&dir);
    (void)snprintf(args.name, sizeof(args.name), "%s", name);
    if (pool_ioctl(root, BTRFS_IOC_SNAP_DESTROY, &args) < 0 && remove_tree(root, name) < 0)
        return -1;
    if (id % REMOVALS_PER_PRUNING == 0)
        prune_qgroups(root);
    return 0;
}

const struct pool_kind pool_btrfs = {
    .name = "btrfs",
    .magic = BTRFS_SUPER_MAGIC,
    .enforces = HUTCH_PROMISE_BIT(DISK),
    .modules = modules,
    .program = "mkfs.btrfs",
    .package = "btrfs-progs",
    .arguments = arguments,
    .options = options,
    .prepare = btrfs_prepare,
    .make = btrfs_make,
    .snapshot = btrfs_snapshot,
    .limit = btrfs_limit,
    .usage = btrfs_usage,
    .remove = btrfs_remove,
};
