/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/native/source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "util/own.h"

/* Filesystems through which the host's kernel is steered: no reason to hand one of them over is a
 * good one. */
static const struct {
    long magic;
    const char *name;
} refused[] = {
    {PROC_SUPER_MAGIC, "procfs"},     {SYSFS_MAGIC, "sysfs"},     {CGROUP_SUPER_MAGIC, "cgroup"},
    {CGROUP2_SUPER_MAGIC, "cgroup2"}, {DEBUGFS_MAGIC, "debugfs"}, {TRACEFS_MAGIC, "tracefs"},
    {SECURITYFS_MAGIC, "securityfs"}, {BPF_FS_MAGIC, "bpf"},      {DEVPTS_SUPER_MAGIC, "devpts"},
    {BINFMTFS_MAGIC, "binfmt_misc"},  {NSFS_MAGIC, "nsfs"},
};

/* NULL for an ordinary filesystem. */
static const char *refused_name(const struct statfs *fs)
{
    for (size_t i = 0; i < HUTCH_COUNT(refused); i++)
        if ((long)fs->f_type == refused[i].magic)
            return refused[i].name;
    return NULL;
}

/* In place: mountinfo writes blanks and backslashes as three octal digits. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from; to++) {
        unsigned value;
        if (sscanf(from, "\\%3o", &value) == 1) {
            *to = (char)value;
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

/* The mount point that one line of mountinfo tells of, if it lies below a directory. */
static bool point_below(const char *line, const char *top, char *point)
{
    if (sscanf(line, "%*d %*d %*s %*s %4095s", point) != 1)
        return false;
    unescape(point);
    size_t length = strcmp(top, "/") ? strlen(top) : 0;
    return !strncmp(point, top, length) && point[length] == '/' && point[length + 1];
}

/* The kernel does not let an ordinary user leave out what is mounted below a directory. */
static int check_below(const char *path, int fd, struct hutch_error *err)
{
    char self[32];
    char top[PATH_MAX];
    char point[PATH_MAX];
    hutch_autofree char *line = NULL;
    size_t size = 0;
    int status = 0;
    (void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    ssize_t length = readlink(self, top, sizeof(top) - 1);
    FILE *mounts = length < 0 ? NULL : fopen("/proc/self/mountinfo", "re");
    if (!mounts)
        return hutch_fail_errno(err, errno, "see what is mounted below '%.300s'", path);
    top[length] = '\0';
    while (status == 0 && getline(&line, &size, mounts) > 0) {
        struct statfs fs;
        if (!point_below(line, top, point) || statfs(point, &fs) < 0 || !refused_name(&fs))
            continue;
        status = hutch_fail(
            err, HUTCH_E_PERMISSION, 0,
            "'%.150s' has %s mounted below it, at '%.150s', which steers the host's kernel and is "
            "never mounted into a sandbox; give a directory without it",
            path, refused_name(&fs), point);
    }
    (void)fclose(mounts);
    return status;
}

static int check_kind(const char *path, int fd, struct stat *ret_info, struct hutch_error *err)
{
    struct statfs fs;
    if (fstat(fd, ret_info) < 0 || fstatfs(fd, &fs) < 0)
        return hutch_fail_errno(err, errno, "look at '%.300s'", path);
    if (S_ISBLK(ret_info->st_mode) || S_ISCHR(ret_info->st_mode))
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "'%.300s' is a device; devices cannot be mounted into a sandbox", path);
    if (refused_name(&fs))
        return hutch_fail(err, HUTCH_E_PERMISSION, 0,
                          "'%.300s' is on %s, which steers the host's kernel and is never mounted "
                          "into a sandbox",
                          path, refused_name(&fs));
    return 0;
}

static int check_source(const struct plan_tree *tree, int fd, struct hutch_error *err)
{
    struct stat info;
    if (tree->ids != PLAN_IDS_OWNER && tree->ids != PLAN_IDS_ROOTFS)
        return 0; /* hutch's own choice */
    if (check_kind(tree->path, fd, &info, err) < 0)
        return -(int)err->code;
    if (tree->directory && !S_ISDIR(info.st_mode))
        return hutch_fail(err, HUTCH_E_INVALID, ENOTDIR,
                          "'%.300s' is not a directory; give a directory", tree->path);
    return 0;
}

static int fail_open(const char *path, struct hutch_error *err)
{
    if (errno == ENOENT || errno == ENOTDIR)
        return hutch_fail(
            err, HUTCH_E_NOT_FOUND, errno,
            "'%.300s' does not exist, so it cannot be mounted; make it first or correct the path",
            path);
    return hutch_fail_errno(err, errno, "open '%.300s'", path);
}

int source_fail_link(const char *path, struct hutch_error *err)
{
    return hutch_fail(err, HUTCH_E_PERMISSION, ELOOP,
                      "'%.300s' has become a link since the policy allowed it, so nothing goes "
                      "there",
                      path);
}

int source_check(const char *path, struct stat *ret_info, struct hutch_error *err)
{
    struct stat info;
    hutch_autofd int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return fail_open(path, err);
    if (check_kind(path, fd, &info, err) < 0 || check_below(path, fd, err) < 0)
        return -(int)err->code;
    *ret_info = info;
    return 0;
}

int source_open_resolved(const char *path, int flags)
{
    const struct open_how how = {.flags = (unsigned)flags, .resolve = RESOLVE_NO_SYMLINKS};
    return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

/* A path that a policy has allowed is a path without links. */
static int open_confined(const struct plan_tree *tree, bool privileged, unsigned flags)
{
    int fd = source_open_resolved(tree->path, O_PATH | O_CLOEXEC);
    if (fd < 0 || !privileged)
        return fd;
    hutch_autofd int place = fd;
    return (int)syscall(SYS_open_tree, place, "", flags | AT_EMPTY_PATH);
}

static int open_path(const struct plan_tree *tree, bool privileged, bool is_confined,
                     unsigned flags)
{
    bool is_asked_for = tree->ids == PLAN_IDS_OWNER || tree->ids == PLAN_IDS_ROOTFS;
    if (is_confined && is_asked_for)
        return open_confined(tree, privileged, flags);
    if (privileged)
        return (int)syscall(SYS_open_tree, AT_FDCWD, tree->path, flags);
    return open(tree->path, O_PATH | O_CLOEXEC);
}

static int open_one(struct plan_tree *tree, bool privileged, bool is_confined,
                    struct hutch_error *err)
{
    hutch_autofd int fd = HUTCH_NO_FD;
    unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC;
    if (tree->unused || tree->is_secret)
        return 0;
    if (tree->detached) {
        tree->fd = fcntl(tree->given, F_DUPFD_CLOEXEC, 0);
        return tree->fd < 0 ? hutch_fail_errno(err, errno, "duplicate a descriptor") : 0;
    }
    if (tree->given >= 0)
        fd = (int)syscall(SYS_open_tree, tree->given, "", flags | AT_EMPTY_PATH);
    else
        fd = open_path(tree, privileged, is_confined, flags);
    if (fd < 0 && tree->optional)
        return 0;
    if (fd < 0 && is_confined && errno == ELOOP)
        return source_fail_link(tree->path, err);
    if (fd < 0)
        return fail_open(tree->path ? tree->path : "the quota pool", err);
    if (check_source(tree, fd, err) < 0)
        return -(int)err->code;
    if (!privileged && tree->ids == PLAN_IDS_OWNER && check_below(tree->path, fd, err) < 0)
        return -(int)err->code;
    if (privileged)
        tree->fd = HUTCH_TAKE_FD(fd);
    return 0;
}

int source_open_all(struct plan *plan, bool privileged, struct hutch_error *err)
{
    for (size_t i = 0; i < plan->tree_count; i++)
        if (open_one(&plan->trees[i], privileged, plan->is_confined, err) < 0)
            return -(int)err->code;
    return 0;
}

/* MS_PRIVATE; its header does not go together with that of the new mount calls on every C library.
 */
#define PROPAGATION_PRIVATE (1u << 18)

/* One call for owners, flags and propagation. userns is negative where owners stay as they are. */
static int set_attributes(const struct plan_tree *tree, int userns)
{
    struct mount_attr attr = {.attr_set = tree->attrs, .propagation = PROPAGATION_PRIVATE};
    if (userns >= 0) {
        attr.attr_set |= MOUNT_ATTR_IDMAP;
        attr.userns_fd = (__u64)userns;
    }
    return (int)syscall(SYS_mount_setattr, tree->fd, "", AT_EMPTY_PATH, &attr, sizeof(attr));
}

static int idmap_failed(const struct plan_tree *tree, int os_errno, struct hutch_error *err)
{
    return hutch_fail(
        err, HUTCH_E_UNSUPPORTED, os_errno,
        "map the owners of '%.250s': %s; its filesystem does not support idmapped mounts on "
        "this kernel, move it to another one (ext4, xfs, btrfs)",
        tree->path, strerror(os_errno));
}

/* Mounts of one owner share a namespace; they mostly are. */
struct owner_namespace {
    int fd;
    uid_t uid;
    gid_t gid;
};

static int map_to_owner(const struct plan_tree *tree, const struct identity *identity,
                        struct owner_namespace *cache, struct hutch_error *err)
{
    struct stat info;
    if (fstat(tree->fd, &info) < 0)
        return hutch_fail_errno(err, errno, "look at '%.300s'", tree->path);
    if (cache->fd < 0 || cache->uid != info.st_uid || cache->gid != info.st_gid) {
        int fd = identity_owner_namespace(identity, info.st_uid, info.st_gid, err);
        if (fd < 0)
            return fd;
        hutch_fd_close(&cache->fd);
        *cache = (struct owner_namespace){fd, info.st_uid, info.st_gid};
    }
    return set_attributes(tree, cache->fd) < 0 ? idmap_failed(tree, errno, err) : 0;
}

static int map_one(const struct plan_tree *tree, const struct identity *identity,
                   int sandbox_userns, struct owner_namespace *cache, struct hutch_error *err)
{
    if (tree->detached || tree->is_secret)
        return 0; /* restricted when it was made */
    if (tree->ids == PLAN_IDS_OWNER)
        return map_to_owner(tree, identity, cache, err);
    if (tree->ids == PLAN_IDS_ROOTFS)
        return set_attributes(tree, sandbox_userns) < 0 ? idmap_failed(tree, errno, err) : 0;
    if (set_attributes(tree, -1) < 0)
        return hutch_fail_errno(err, errno, "restrict the mount of '%.300s'", tree->path);
    return 0;
}

int source_map_owners(struct plan *plan, const struct identity *identity, int sandbox_userns,
                      struct hutch_error *err)
{
    struct owner_namespace cache = {HUTCH_NO_FD, 0, 0};
    int status = 0;
    for (size_t i = 0; i < plan->tree_count && status == 0; i++)
        if (plan->trees[i].fd >= 0)
            status = map_one(&plan->trees[i], identity, sandbox_userns, &cache, err);
    hutch_fd_close(&cache.fd);
    return status;
}
