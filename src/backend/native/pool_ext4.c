/* SPDX-License-Identifier: Apache-2.0 */
/* A pool on ext4: a directory per sandbox, and a project quota of its own for each. What is made
 * below the directory belongs to its project, and from within a user namespace that cannot be
 * changed. The project's number is the directory's inode number: unique as long as the directory
 * lives, and known without a record.
 *
 * The kernel lets CAP_SYS_RESOURCE of the initial user namespace write past a limit: hutch itself
 * may, no sandbox can. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/quota.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/native/pool_kind.h"
#include "util/remove_tree.h"

#ifndef SYS_quotactl_fd
#define SYS_quotactl_fd 443
#endif

static const char *const modules[] = {"ext4", "quota_v2", NULL};

/* What mke2fs.conf could say otherwise is said here, where it matters. The file is sparse and reads
 * as zeros, so neither the journal nor the inode tables have to be written. */
static const char *const arguments[] = {
    "-q", "-F",
    "-b", "4096",
    "-I", "256",
    "-i", "16384",
    "-m", "0",
    "-J", "size=64",
    "-O", "extent,quota,project",
    "-E", "quotatype=prjquota,lazy_itable_init=1,lazy_journal_init=1,nodiscard",
    NULL,
};

/* discard: what a sandbox frees, the file frees. noinit_itable: no thread that fills the sparse
 * file with zeros. */
static const struct pool_option options[] = {
    {"prjquota", NULL}, {"discard", NULL}, {"noinit_itable", NULL}, {NULL, NULL}};

static int project_quota(int fd, unsigned command, uint64_t project, void *data)
{
    command = command << SUBCMDSHIFT | PRJQUOTA;
    return (int)syscall(SYS_quotactl_fd, fd, command, (uint32_t)project, data);
}

static int ext4_prepare(int root, struct hutch_error *err)
{
    struct if_dqinfo info;
    if (project_quota(root, Q_GETINFO, 0, &info) < 0)
        return hutch_fail_errno(err, errno, "use the project quota of ext4");
    return 0;
}

static int ext4_make(int root, const char *name)
{
    return mkdirat(root, name, 0700);
}

static int ext4_limit(int dir, uint64_t disk_bytes, uint64_t inodes, uint64_t *ret_id)
{
    struct stat info;
    struct fsxattr attributes;
    struct if_dqblk quota = {
        .dqb_bhardlimit = disk_bytes / QIF_DQBLKSIZE + (disk_bytes % QIF_DQBLKSIZE != 0),
        .dqb_ihardlimit = inodes,
        .dqb_valid = QIF_LIMITS,
    };
    if (fstat(dir, &info) < 0 || pool_ioctl(dir, FS_IOC_FSGETXATTR, &attributes) < 0)
        return -1;
    attributes.fsx_projid = (uint32_t)info.st_ino;
    attributes.fsx_xflags |= FS_XFLAG_PROJINHERIT;
    if (pool_ioctl(dir, FS_IOC_FSSETXATTR, &attributes) < 0 ||
        project_quota(dir, Q_SETQUOTA, info.st_ino, &quota) < 0)
        return -1;
    *ret_id = info.st_ino;
    return 0;
}

static int ext4_usage(const struct pool_dir *dir, uint64_t *ret_bytes, bool *ret_full)
{
    struct if_dqblk quota;
    if (project_quota(dir->dir, Q_GETQUOTA, dir->id, &quota) < 0)
        return -1;
    uint64_t limit = quota.dqb_bhardlimit * QIF_DQBLKSIZE;
    *ret_bytes = quota.dqb_curspace;
    *ret_full = (limit && quota.dqb_curspace + POOL_SLACK_BYTES > limit) ||
                (quota.dqb_ihardlimit && quota.dqb_curinodes >= quota.dqb_ihardlimit);
    return 0;
}

/* The limit goes first: moving a directory may take a block. A record without limits and usage is
 * no record. */
static int ext4_remove(int root, const char *name)
{
    struct stat info;
    struct if_dqblk unlimited = {.dqb_valid = QIF_LIMITS};
    if (fstatat(root, name, &info, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    (void)project_quota(root, Q_SETQUOTA, info.st_ino, &unlimited);
    return remove_tree(root, name);
}

const struct pool_kind pool_ext4 = {
    .name = "ext4",
    .magic = EXT4_SUPER_MAGIC,
    .enforces = HUTCH_PROMISE_BIT(DISK) | HUTCH_PROMISE_BIT(INODES),
    .modules = modules,
    .program = "mkfs.ext4",
    .package = "e2fsprogs",
    .arguments = arguments,
    .options = options,
    .prepare = ext4_prepare,
    .make = ext4_make,
    .limit = ext4_limit,
    .usage = ext4_usage,
    .remove = ext4_remove,
};
