/* SPDX-License-Identifier: Apache-2.0 */
/* Files that must not come into being: setuid and setgid ones, devices, whiteouts. */
#include "surface.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define HERE ((unsigned long)AT_FDCWD)
#define NO_FD 0xffffffffUL
/* In no directory that there is: ENOENT without the filter. */
#define NOWHERE ((unsigned long)(uintptr_t) "/nonexistent/hutch-surface")

enum { NR_FCHMODAT2 = 452 };

static const struct {
    const char *name;
    unsigned long mode;
} modes[] = {{"setuid", S_ISUID | 0755}, {"setgid", S_ISGID | 0755}, {"both", 06777}};

static void set_id(struct surface *surface, const char *call, long number,
                   const unsigned long args[4], unsigned mode_arg, unsigned dirty_args)
{
    char name[64];
    for (size_t i = 0; i < SURFACE_COUNT(modes); i++) {
        struct surface_attempt attempt = {.name = name, .expected = EPERM, .number = number};
        (void)snprintf(name, sizeof(name), "%s %s", call, modes[i].name);
        for (size_t a = 0; a < 4; a++)
            attempt.args[a] = args[a];
        attempt.args[mode_arg] |= modes[i].mode;
        surface_denied_dirty(surface, &attempt, dirty_args | 1U << mode_arg);
    }
}

#define SET_ID(name, number, mode_arg, dirty_args, ...) \
    set_id(surface, name, number, (const unsigned long[4]){__VA_ARGS__}, mode_arg, dirty_args)

static void set_id_at(struct surface *surface)
{
    SET_ID("fchmod", SYS_fchmod, 1, 0, NO_FD);
    SET_ID("fchmodat", SYS_fchmodat, 2, 0, HERE, NOWHERE);
    SET_ID("fchmodat2", NR_FCHMODAT2, 2, 0, HERE, NOWHERE);
    SET_ID("openat O_CREAT", SYS_openat, 3, 1U << 2, HERE, NOWHERE, O_CREAT | O_WRONLY);
    SET_ID("openat O_TMPFILE", SYS_openat, 3, 1U << 2, HERE, NOWHERE, O_TMPFILE | O_RDWR);
    SET_ID("openat O_CREAT O_TMPFILE", SYS_openat, 3, 1U << 2, HERE, NOWHERE,
           O_CREAT | O_TMPFILE | O_RDWR);
    SET_ID("mknodat file", SYS_mknodat, 2, 0, HERE, NOWHERE, S_IFREG);
    SET_ID("mknodat fifo", SYS_mknodat, 2, 0, HERE, NOWHERE, S_IFIFO);
    SET_ID("mknodat without a type", SYS_mknodat, 2, 0, HERE, NOWHERE, 0);
}

/* The calls aarch64 does not have. */
static void set_id_by_name(struct surface *surface)
{
#if defined(__x86_64__)
    SET_ID("chmod", SYS_chmod, 1, 0, NOWHERE);
    SET_ID("creat", SYS_creat, 1, 0, NOWHERE);
    SET_ID("open O_CREAT", SYS_open, 2, 1U << 1, NOWHERE, O_CREAT | O_WRONLY);
    SET_ID("open O_TMPFILE", SYS_open, 2, 1U << 1, NOWHERE, O_TMPFILE | O_RDWR);
    SET_ID("mknod file", SYS_mknod, 1, 0, NOWHERE, S_IFREG);
#else
    (void)surface;
#endif
}

static void devices(struct surface *surface)
{
    const struct {
        const char *name;
        unsigned long mode;
        unsigned long device;
    } kinds[] = {{"null", S_IFCHR | 0666, makedev(1, 3)},
                 {"kmem", S_IFCHR | 0600, makedev(1, 2)},
                 {"disk", S_IFBLK | 0600, makedev(8, 0)},
                 {"whiteout", S_IFCHR, makedev(0, 0)}};
    char name[64];
    for (size_t i = 0; i < SURFACE_COUNT(kinds); i++) {
        (void)snprintf(name, sizeof(name), "mknodat %s", kinds[i].name);
        surface_denied_dirty(
            surface,
            &(struct surface_attempt){.name = name,
                                      .expected = EPERM,
                                      .number = SYS_mknodat,
                                      .args = {HERE, NOWHERE, kinds[i].mode, kinds[i].device}},
            1U << 2);
#if defined(__x86_64__)
        (void)snprintf(name, sizeof(name), "mknod %s", kinds[i].name);
        surface_denied_dirty(
            surface,
            &(struct surface_attempt){.name = name,
                                      .expected = EPERM,
                                      .number = SYS_mknod,
                                      .args = {NOWHERE, kinds[i].mode, kinds[i].device}},
            1U << 1);
#endif
    }
    surface_denied_dirty(
        surface,
        &(struct surface_attempt){.name = "renameat2 RENAME_WHITEOUT",
                                  .expected = EPERM,
                                  .number = SYS_renameat2,
                                  .args = {HERE, NOWHERE, HERE, NOWHERE, RENAME_WHITEOUT}},
        1U << 4);
}

/* Succeeds if a file of ours ends up with a bit, whichever way it took. */
static long try_file_in_earnest(const struct surface_attempt *attempt)
{
    char path[] = "/tmp/hutch-surface-XXXXXX";
    struct stat st = {0};
    int fd = mkstemp(path);
    if (fd < 0)
        return -1;
    errno = 0;
    if (fchmod(fd, 06755) < 0 && chmod(path, 06755) < 0)
        (void)syscall(SYS_fchmodat, AT_FDCWD, path, 06755);
    int refused = errno;
    (void)fstat(fd, &st);
    (void)unlink(path);
    (void)attempt;
    errno = refused;
    return st.st_mode & (S_ISUID | S_ISGID) ? 0 : -1;
}

/* Here it is the kernel that drops the bits: nothing is refused. */
static long try_directory_in_earnest(const struct surface_attempt *attempt)
{
    char path[64];
    struct stat st = {0};
    (void)attempt;
    (void)snprintf(path, sizeof(path), "/tmp/hutch-surface-%ld", (long)getpid());
    if (syscall(SYS_mkdirat, AT_FDCWD, path, 06755) < 0 || stat(path, &st) < 0)
        return -1;
    (void)rmdir(path);
    errno = EPERM;
    return st.st_mode & S_ISUID ? 0 : -1;
}

void surface_modes(struct surface *surface)
{
    static const struct surface_attempt file = {
        .name = "setuid file in /tmp", .expected = EPERM, .run = try_file_in_earnest};
    static const struct surface_attempt directory = {.name = "setuid directory by mkdir",
                                                     .layer = SURFACE_SANDBOX,
                                                     .expected = SURFACE_ANY_ERROR,
                                                     .run = try_directory_in_earnest};
    set_id_at(surface);
    set_id_by_name(surface);
    devices(surface);
    surface_denied(surface, &file);
    surface_denied(surface, &directory);
}
