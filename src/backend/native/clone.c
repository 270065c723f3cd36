/* SPDX-License-Identifier: Apache-2.0 */
/* The child of a vfork shares its parent's stack: a call it makes would overwrite the return
 * addresses its parent still needs. So it makes none: system calls are inline, from clone3 to
 * execveat. */
#include "backend/native/clone.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

#define INLINE static inline __attribute__((always_inline))

#if defined(__x86_64__)
INLINE long raw_syscall(long number, long a, long b, long c, long d, long e)
{
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__)
INLINE long raw_syscall(long number, long a, long b, long c, long d, long e)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
    return x0;
}
#else
#error "this architecture needs its system call instruction here"
#endif

#define CHILD_SOCKET_FD 3

/* What hutch-init needs to build a sandbox. The child's ids are not mapped yet, so exec would take
 * its capabilities away; as ambient ones they stay. They are worth nothing outside the child's own
 * user namespace. */
static const unsigned char needed_capabilities[] = {
    CAP_CHOWN,        CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH,  CAP_FOWNER,    CAP_KILL,
    CAP_SETGID,       CAP_SETUID,       CAP_SETPCAP,          CAP_NET_ADMIN, CAP_SYS_ADMIN,
    CAP_SYS_RESOURCE, CAP_NET_RAW,      CAP_NET_BIND_SERVICE,
};
#define NETWORK_CAPABILITIES 2 /* the last of them are for egress alone */

struct capability_sets {
    size_t count;
    struct __user_cap_header_struct header;
    struct __user_cap_data_struct data[2];
};

static void fill_capabilities(struct capability_sets *sets, bool makes_network)
{
    *sets = (struct capability_sets){.count = sizeof(needed_capabilities) -
                                              (makes_network ? 0 : NETWORK_CAPABILITIES),
                                     .header = {.version = _LINUX_CAPABILITY_VERSION_3}};
    for (size_t i = 0; i < sets->count; i++)
        sets->data[0].permitted |= 1u << needed_capabilities[i];
    sets->data[0].effective = sets->data[0].inheritable = sets->data[0].permitted;
}

/* Not inlined: the parent's frame, with everything it will need again, is complete before the child
 * exists. */
static __attribute__((noinline)) long vfork_execute(struct clone_args *args,
                                                    struct capability_sets *sets, int program_fd,
                                                    int socket_fd, char *const *argv,
                                                    char *const *envp)
{
    long pid = raw_syscall(SYS_clone3, (long)args, sizeof(*args), 0, 0, 0);
    if (pid == 0) {
        raw_syscall(SYS_capset, (long)&sets->header, (long)sets->data, 0, 0, 0);
        for (size_t i = 0; i < sets->count; i++)
            raw_syscall(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, needed_capabilities[i], 0,
                        0);
        if (raw_syscall(SYS_dup3, socket_fd, CHILD_SOCKET_FD, 0, 0, 0) >= 0)
            raw_syscall(SYS_execveat, program_fd, (long)"", (long)argv, (long)envp, AT_EMPTY_PATH);
        for (;;)
            raw_syscall(SYS_exit_group, 1, 0, 0, 0, 0);
    }
    return pid;
}

pid_t clone_and_execute(uint64_t namespaces, bool makes_network, int into_cgroup, int program_fd,
                        int socket_fd, int *ret_pidfd)
{
    static char name[] = "hutch-init";
    char *const argv[] = {name, NULL};
    char *const envp[] = {NULL};
    int pidfd = -1;
    struct capability_sets sets;
    fill_capabilities(&sets, makes_network);
    struct clone_args args = {
        .flags = namespaces | CLONE_VM | CLONE_VFORK | CLONE_PIDFD,
        .pidfd = (__u64)(uintptr_t)&pidfd,
        .exit_signal = SIGCHLD,
    };
    if (into_cgroup >= 0) {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = (__u64)into_cgroup;
    }
    /* A handler that ran in the child would run on the parent's memory. */
    sigset_t all, before;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    long pid = vfork_execute(&args, &sets, program_fd, socket_fd, argv, envp);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pid < 0) {
        errno = (int)-pid;
        return -1;
    }
    *ret_pidfd = pidfd;
    return (pid_t)pid;
}

struct servant_limits {
    struct rlimit64 file;
    struct rlimit64 core;
};

/* Not inlined, as above. Changing ids clears the parent-death signal, so that comes after. */
static __attribute__((noinline)) long vfork_servant(struct clone_args *args,
                                                    const struct clone_servant *servant,
                                                    const struct servant_limits *limits,
                                                    char *const *argv, char *const *envp)
{
    long pid = raw_syscall(SYS_clone3, (long)args, sizeof(*args), 0, 0, 0);
    if (pid == 0) {
        long failed = 0;
        if (servant->changes_ids) {
            failed |= raw_syscall(SYS_setgroups, 0, 0, 0, 0, 0);
            failed |= raw_syscall(SYS_setresgid, servant->gid, servant->gid, servant->gid, 0, 0);
            failed |= raw_syscall(SYS_setresuid, servant->uid, servant->uid, servant->uid, 0, 0);
        }
        failed |= raw_syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        failed |= raw_syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        failed |= raw_syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, (long)&limits->file, 0, 0);
        failed |= raw_syscall(SYS_prlimit64, 0, RLIMIT_CORE, (long)&limits->core, 0, 0);
        for (int i = 0; i < CLONE_FIRST_FD; i++)
            failed |= raw_syscall(SYS_dup3, servant->fds[0], i, 0, 0, 0) < 0;
        for (int i = 0; i < CLONE_FDS; i++)
            failed |= raw_syscall(SYS_dup3, servant->fds[i], CLONE_FIRST_FD + i, 0, 0, 0) < 0;
        failed |= raw_syscall(SYS_close_range, CLONE_FIRST_FD + CLONE_FDS, ~0U, CLOSE_RANGE_CLOEXEC,
                              0, 0);
        if (!failed)
            raw_syscall(SYS_execveat, servant->program, (long)"", (long)argv, (long)envp,
                        AT_EMPTY_PATH);
        for (;;)
            raw_syscall(SYS_exit_group, 1, 0, 0, 0, 0);
    }
    return pid;
}

pid_t clone_servant(const struct clone_servant *servant, int *ret_pidfd)
{
    char *const argv[] = {(char *)(uintptr_t)servant->name, NULL};
    char *const envp[] = {NULL};
    int pidfd = -1;
    const struct servant_limits limits = {.file = {servant->file_bytes, servant->file_bytes}};
    struct clone_args args = {
        .flags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD,
        .pidfd = (__u64)(uintptr_t)&pidfd,
        .exit_signal = SIGCHLD,
    };
    sigset_t all, before;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    long pid = vfork_servant(&args, servant, &limits, argv, envp);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pid < 0) {
        errno = (int)-pid;
        return -1;
    }
    *ret_pidfd = pidfd;
    return (pid_t)pid;
}

pid_t clone_namespace_holder(void)
{
    struct clone_args args = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
    pid_t parent = getpid();
    long pid = raw_syscall(SYS_clone3, (long)&args, sizeof(args), 0, 0, 0);
    if (pid == 0) {
        raw_syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        while (raw_syscall(SYS_getppid, 0, 0, 0, 0, 0) == parent)
            raw_syscall(SYS_ppoll, 0, 0, 0, 0, 0);
        raw_syscall(SYS_exit_group, 0, 0, 0, 0, 0);
    }
    if (pid < 0) {
        errno = (int)-pid;
        return -1;
    }
    return (pid_t)pid;
}
