/* SPDX-License-Identifier: Apache-2.0 */
/* System calls that the C library hutch-init is built with has no names for. */
#ifndef HUTCH_INIT_SYS_H
#define HUTCH_INIT_SYS_H

#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_open_tree
#define SYS_open_tree 428
#define SYS_move_mount 429
#define SYS_fsopen 430
#define SYS_fsconfig 431
#define SYS_fsmount 432
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif

#define SYS_AT_RECURSIVE 0x8000
#define SYS_AT_EMPTY_PATH 0x1000
#define SYS_AT_NO_AUTOMOUNT 0x800
#define SYS_MS_PRIVATE (1u << 18)
#define SYS_MS_NOSUID 2UL
#define SYS_MS_NODEV 4UL
#define SYS_MNT_DETACH 2

/* One call where fsopen, fsconfig, fsmount and move_mount are many. It follows names: only for
 * those of our own layers. */
static inline int sys_mount(const char *type, const char *target, unsigned long flags,
                            const char *options)
{
    return (int)syscall(SYS_mount, type, target, type, flags, options);
}

static inline int sys_open_tree(int dir, const char *path, unsigned flags)
{
    return (int)syscall(SYS_open_tree, dir, path, flags);
}

static inline int sys_move_mount(int from, int to, const char *path)
{
    unsigned flags = MOVE_MOUNT_F_EMPTY_PATH | (*path ? 0 : MOVE_MOUNT_T_EMPTY_PATH);
    return (int)syscall(SYS_move_mount, from, "", to, path, flags);
}

static inline int sys_mount_setattr(int fd, unsigned flags, struct mount_attr *attr)
{
    return (int)syscall(SYS_mount_setattr, fd, "", flags | SYS_AT_EMPTY_PATH, attr, sizeof(*attr));
}

static inline int sys_fsopen(const char *type)
{
    return (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);
}

static inline int sys_fsconfig_set(int fd, const char *key, const char *value)
{
    return value ? (int)syscall(SYS_fsconfig, fd, FSCONFIG_SET_STRING, key, value, 0)
                 : (int)syscall(SYS_fsconfig, fd, FSCONFIG_SET_FLAG, key, NULL, 0);
}

static inline int sys_fsmount(int fd, unsigned attrs)
{
    if (syscall(SYS_fsconfig, fd, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return -1;
    return (int)syscall(SYS_fsmount, fd, FSMOUNT_CLOEXEC, attrs);
}

static inline int sys_openat2(int dir, const char *path, int flags, unsigned long long resolve)
{
    struct open_how how = {.flags = (unsigned)flags | O_CLOEXEC, .resolve = resolve};
    return (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
}

/* Every descriptor from this one on. They are ints: gVisor takes a last one above that for a
 * mistake. */
static inline int sys_close_from(unsigned first)
{
    return (int)syscall(SYS_close_range, first, 0x7fffffffL, 0L);
}

#endif
