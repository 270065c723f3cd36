/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that are refused for some of their arguments: clone, ioctl, scheduling, personality. */
#include "surface.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

struct named_value {
    const char *name;
    unsigned long value;
};

static long try_clone(const struct surface_attempt *attempt)
{
    long pid = syscall(SYS_clone, attempt->args[0], 0, 0, 0, 0);
    if (pid == 0)
        _exit(0);
    return pid;
}

static void clone_flags(struct surface *surface)
{
    static const struct named_value namespaces[] = {
        {"mount", CLONE_NEWNS},      {"uts", CLONE_NEWUTS},
        {"ipc", CLONE_NEWIPC},       {"user", CLONE_NEWUSER},
        {"pid", CLONE_NEWPID},       {"net", CLONE_NEWNET},
        {"cgroup", CLONE_NEWCGROUP}, {"user and mount", CLONE_NEWUSER | CLONE_NEWNS}};
    char name[64];
    for (size_t i = 0; i < SURFACE_COUNT(namespaces); i++) {
        (void)snprintf(name, sizeof(name), "clone new %s", namespaces[i].name);
        surface_denied_dirty(surface,
                             &(struct surface_attempt){.name = name,
                                                       .expected = EPERM,
                                                       .run = try_clone,
                                                       .args = {SIGCHLD | namespaces[i].value}},
                             1U << 0);
    }
}

/* On /dev/null, which knows none of them (ENOTTY); the argument would be invalid. */
static long try_ioctl_on_null(const struct surface_attempt *attempt)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    return syscall(SYS_ioctl, fd, attempt->args[1], 1UL);
}

/* In earnest, on a terminal of our own. */
static long try_on_terminal(const struct surface_attempt *attempt)
{
    char typed = 'x';
    int discipline = 0;
    int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    return syscall(SYS_ioctl, fd, attempt->args[1],
                   attempt->args[2] ? (void *)&discipline : (void *)&typed);
}

static void ioctl_requests(struct surface *surface)
{
    static const struct named_value requests[] = {{"TIOCSTI", TIOCSTI},
                                                  {"TIOCLINUX", TIOCLINUX},
                                                  {"TIOCSETD", TIOCSETD},
                                                  {"TIOCCONS", TIOCCONS}};
    char name[64];
    for (size_t i = 0; i < SURFACE_COUNT(requests); i++) {
        (void)snprintf(name, sizeof(name), "ioctl %s", requests[i].name);
        surface_denied_dirty(surface,
                             &(struct surface_attempt){.name = name,
                                                       .expected = EPERM,
                                                       .run = try_ioctl_on_null,
                                                       .args = {0, requests[i].value}},
                             1U << 1);
    }
    surface_denied_dirty(surface,
                         &(struct surface_attempt){.name = "ioctl TIOCSTI on a terminal",
                                                   .expected = EPERM,
                                                   .run = try_on_terminal,
                                                   .args = {0, TIOCSTI}},
                         1U << 1);
    surface_denied_dirty(surface,
                         &(struct surface_attempt){.name = "ioctl TIOCSETD on a terminal",
                                                   .expected = EPERM,
                                                   .run = try_on_terminal,
                                                   .args = {0, TIOCSETD, 1}},
                         1U << 1);
}

/* btrfs's requests on no descriptor at all: EBADF without the filter. */
static void btrfs_requests(struct surface *surface)
{
    static const struct named_value requests[] = {{"SUBVOL_CREATE", 0x5000940e},
                                                  {"SNAP_CREATE_V2", 0x50009417},
                                                  {"SUBVOL_CREATE_V2", 0x50009418},
                                                  {"TREE_SEARCH", 0xd0009411}};
    char name[64];
    for (size_t i = 0; i < SURFACE_COUNT(requests); i++) {
        (void)snprintf(name, sizeof(name), "ioctl btrfs %s", requests[i].name);
        surface_denied_dirty(surface,
                             &(struct surface_attempt){.name = name,
                                                       .expected = ENOTTY,
                                                       .number = SYS_ioctl,
                                                       .args = {0xffffffffUL, requests[i].value}},
                             1U << 1);
    }
}

/* The priority does not belong to the policy, which is EINVAL for everybody. */
static long try_scheduler(const struct surface_attempt *attempt)
{
    struct sched_param parameter = {.sched_priority = 0};
    return syscall(SYS_sched_setscheduler, 0, attempt->args[1], &parameter);
}

static void scheduling_policies(struct surface *surface)
{
    enum { POLICY_ISO = 4, POLICY_DEADLINE = 6, POLICY_EXT = 7 };
    static const struct named_value policies[] = {
        {"SCHED_FIFO", SCHED_FIFO},
        {"SCHED_RR", SCHED_RR},
        {"SCHED_DEADLINE", POLICY_DEADLINE},
        {"policy 4", POLICY_ISO},
        {"SCHED_EXT", POLICY_EXT},
        {"SCHED_FIFO reset on fork", SCHED_FIFO | SCHED_RESET_ON_FORK},
        {"SCHED_RR reset on fork", SCHED_RR | SCHED_RESET_ON_FORK}};
    char name[64];
    for (size_t i = 0; i < SURFACE_COUNT(policies); i++) {
        (void)snprintf(name, sizeof(name), "sched_setscheduler %s", policies[i].name);
        surface_denied_dirty(surface,
                             &(struct surface_attempt){.name = name,
                                                       .expected = EPERM,
                                                       .run = try_scheduler,
                                                       .args = {0, policies[i].value}},
                             1U << 1);
    }
}

static void personalities(struct surface *surface)
{
    static const struct named_value flags[] = {{"ADDR_NO_RANDOMIZE", ADDR_NO_RANDOMIZE},
                                               {"READ_IMPLIES_EXEC", READ_IMPLIES_EXEC},
                                               {"MMAP_PAGE_ZERO", MMAP_PAGE_ZERO},
                                               {"ADDR_COMPAT_LAYOUT", ADDR_COMPAT_LAYOUT},
                                               {"PER_SVR4", PER_SVR4}};
    char name[64];
    for (size_t i = 0; i < SURFACE_COUNT(flags); i++) {
        (void)snprintf(name, sizeof(name), "personality %s", flags[i].name);
        surface_denied_dirty(surface,
                             &(struct surface_attempt){.name = name,
                                                       .expected = EPERM,
                                                       .number = SYS_personality,
                                                       .args = {flags[i].value}},
                             1U << 0);
    }
}

void surface_arguments(struct surface *surface)
{
    clone_flags(surface);
    ioctl_requests(surface);
    btrfs_requests(surface);
    scheduling_policies(surface);
    personalities(surface);
}
