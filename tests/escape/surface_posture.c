/* SPDX-License-Identifier: Apache-2.0 */
/* What is refused by other layers than the filter: capabilities, namespaces, limits, mounts. These
 * are made in a sandbox only, and are as harmless outside: what is opened is not written to, what
 * is raised ends with its process. */
#include "surface.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A state that must not be: "success" is to be in it. */
static long in_state(bool bad)
{
    errno = EPERM;
    return bad ? 0 : -1;
}

/* args: the resource. */
static long try_raise_limit(const struct surface_attempt *attempt)
{
    struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
    return syscall(SYS_prlimit64, 0, attempt->args[0], &unlimited, NULL);
}

static long try_core_dump(const struct surface_attempt *attempt)
{
    int status = 0;
    pid_t pid = fork();
    (void)attempt;
    if (pid == 0) {
        struct rlimit limit;
        (void)getrlimit(RLIMIT_CORE, &limit);
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_CORE, &limit);
        (void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
        (void)raise(SIGQUIT);
    }
    (void)waitpid(pid, &status, 0);
    return in_state(WCOREDUMP(status));
}

static long try_nice(const struct surface_attempt *attempt)
{
    (void)attempt;
    return syscall(SYS_setpriority, PRIO_PROCESS, 0, -20);
}

/* number: the call, setuid or setgid. */
static long try_other_identity(const struct surface_attempt *attempt)
{
    unsigned own = attempt->number == SYS_setuid ? getuid() : getgid();
    return syscall(attempt->number, own == 0 ? 1 : 0);
}

static long try_capset(const struct surface_attempt *attempt)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{UINT32_MAX, UINT32_MAX, 0}, {0, 0, 0}};
    (void)attempt;
    return syscall(SYS_capset, &header, data);
}

static long has_capabilities(const struct surface_attempt *attempt)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}};
    bool any = syscall(SYS_capget, &header, data) != 0;
    (void)attempt;
    for (size_t i = 0; i < SURFACE_COUNT(data); i++)
        any |= (data[i].effective | data[i].permitted | data[i].inheritable) != 0;
    for (unsigned long cap = 0; cap <= CAP_LAST_CAP; cap++) {
        any |= prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1;
        any |= prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, cap, 0, 0) == 1;
    }
    return in_state(any);
}

static long can_gain_privileges(const struct surface_attempt *attempt)
{
    (void)attempt;
    return in_state(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1);
}

static long has_no_filter(const struct surface_attempt *attempt)
{
    (void)attempt;
    return in_state(prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != SECCOMP_MODE_FILTER);
}

static long has_descriptors(const struct surface_attempt *attempt)
{
    (void)attempt;
    for (int fd = 3; fd < 65536; fd++) {
        if (fcntl(fd, F_GETFD) >= 0)
            return in_state(true);
    }
    return in_state(false);
}

static long honours_setuid(const struct surface_attempt *attempt)
{
    struct statvfs fs;
    if (statvfs(attempt->path, &fs) < 0)
        return in_state(true);
    return in_state((fs.f_flag & ST_NOSUID) == 0);
}

static void try_knobs(struct surface *surface)
{
    static const char *const knobs[] = {"/proc/sys/kernel/core_pattern",
                                        "/proc/sys/kernel/modprobe",
                                        "/proc/sys/kernel/sysrq",
                                        "/proc/sys/vm/overcommit_memory",
                                        "/proc/sys/fs/binfmt_misc/register",
                                        "/proc/sysrq-trigger",
                                        "/sys/kernel/uevent_helper",
                                        "/sys/power/state",
                                        "/dev/mem",
                                        "/dev/kmsg",
                                        "/dev/kvm",
                                        "/dev/fuse"};
    char name[64];
    for (size_t i = 0; i < SURFACE_COUNT(knobs); i++) {
        (void)snprintf(name, sizeof(name), "write %s", knobs[i]);
        surface_denied(surface, &(struct surface_attempt){
                                    .name = name,
                                    .layer = SURFACE_SANDBOX,
                                    .expected = SURFACE_ANY_ERROR,
                                    .number = SYS_openat,
                                    .args = {(unsigned long)AT_FDCWD,
                                             (unsigned long)(uintptr_t)knobs[i], O_WRONLY}});
    }
}

void surface_posture(struct surface *surface)
{
    const struct surface_attempt attempts[] = {
        {.name = "raise the core limit", .run = try_raise_limit, .args = {RLIMIT_CORE}},
        {.name = "raise the real-time limit", .run = try_raise_limit, .args = {RLIMIT_RTPRIO}},
        {.name = "raise the nice limit", .run = try_raise_limit, .args = {RLIMIT_NICE}},
        {.name = "core dump", .run = try_core_dump},
        {.name = "nice -20", .run = try_nice, .or_expected = EACCES},
        /* EINVAL: a user that the namespace does not have */
        {.name = "setuid to another",
         .run = try_other_identity,
         .number = SYS_setuid,
         .or_expected = EINVAL},
        {.name = "setgid to another",
         .run = try_other_identity,
         .number = SYS_setgid,
         .or_expected = EINVAL},
        {.name = "setgroups", .number = SYS_setgroups, .args = {0, 0}},
        {.name = "capset", .run = try_capset},
        {.name = "a capability in any set", .run = has_capabilities},
        {.name = "privileges to be gained by exec", .run = can_gain_privileges},
        {.name = "a process without a filter", .run = has_no_filter},
        {.name = "a descriptor above 2", .run = has_descriptors},
        {.name = "setuid honoured on /", .run = honours_setuid, .path = "/"},
        {.name = "setuid honoured on /tmp", .run = honours_setuid, .path = "/tmp"},
        {.name = "setuid honoured here", .run = honours_setuid, .path = "."},
    };
    for (size_t i = 0; i < SURFACE_COUNT(attempts); i++) {
        struct surface_attempt attempt = attempts[i];
        attempt.layer = SURFACE_SANDBOX;
        attempt.expected = EPERM;
        surface_denied(surface, &attempt);
    }
    try_knobs(surface);
}
