/* SPDX-License-Identifier: Apache-2.0 */
/* Children that borrow their parent's memory until they execute. One whose parent goes on meanwhile
 * has a stack of its own (on_stack.h). The child of a vfork shares even that: a call it makes would
 * overwrite the return addresses its parent still needs. So it makes none: system calls are inline,
 * from clone3 to execveat. */
#include "backend/native/clone.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/native/programs.h"
#include "init/on_stack.h"

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

#define CHILD_SOCKET_FD 3

#define MEMFD_FLAGS (MFD_CLOEXEC | MFD_ALLOW_SEALING)
#define MEMFD_EXEC 0x10U /* MFD_EXEC, since Linux 6.3 */

/* What hutch-init needs to build a sandbox. The child's own ids are not mapped, so exec would take
 * its capabilities away; as ambient ones they stay. They are worth nothing outside the child's own
 * user namespace. */
static const unsigned char needed_capabilities[] = {
    CAP_CHOWN,        CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH,  CAP_FOWNER,    CAP_KILL,
    CAP_SETGID,       CAP_SETUID,       CAP_SETPCAP,          CAP_NET_ADMIN, CAP_SYS_ADMIN,
    CAP_SYS_RESOURCE, CAP_NET_RAW,      CAP_NET_BIND_SERVICE,
};
#define NETWORK_CAPABILITIES 2 /* the last of them are for egress alone */

static void fill_capabilities(struct clone_child *child, bool makes_network)
{
    uint32_t set = 0;
    child->header = (struct __user_cap_header_struct){.version = _LINUX_CAPABILITY_VERSION_3};
    child->capability_count =
        sizeof(needed_capabilities) - (makes_network ? 0 : NETWORK_CAPABILITIES);
    for (size_t i = 0; i < child->capability_count; i++)
        set |= 1u << needed_capabilities[i];
    child->capabilities[0] = (struct __user_cap_data_struct){set, set, set};
    child->capabilities[1] = (struct __user_cap_data_struct){0};
}

/* program_memfd() and execution, without a C library. Comes back where it cannot. */
ON_STACK_INLINE void execute_from_memory(const struct program *program, const char *const *argv,
                                         const char *const *envp)
{
    const unsigned seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    long fd = raw_syscall(SYS_memfd_create, (long)program->name, MEMFD_FLAGS | MEMFD_EXEC, 0, 0, 0);
    if (fd == -EINVAL)
        fd = raw_syscall(SYS_memfd_create, (long)program->name, MEMFD_FLAGS, 0, 0, 0);
    for (size_t at = 0; fd >= 0 && at < program->length;) {
        long written = raw_syscall(SYS_write, fd, (long)program->image + (long)at,
                                   (long)(program->length - at), 0, 0);
        if (written <= 0)
            return;
        at += (size_t)written;
    }
    if (fd >= 0 && raw_syscall(SYS_fcntl, fd, F_ADD_SEALS, seals, 0, 0) == 0)
        raw_syscall(SYS_execveat, fd, (long)"", (long)argv, (long)envp, AT_EMPTY_PATH);
}

RAW static __attribute__((noreturn)) void child_main(void *argument)
{
    const struct clone_child *child = argument;
    static const char *const argv[] = {"hutch-init", NULL};
    static const char *const envp[] = {NULL};
    raw_syscall(SYS_capset, (long)&child->header, (long)child->capabilities, 0, 0, 0);
    for (size_t i = 0; i < child->capability_count; i++)
        raw_syscall(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, needed_capabilities[i], 0, 0);
    if (raw_syscall(SYS_dup3, child->socket, CHILD_SOCKET_FD, 0, 0, 0) >= 0) {
        raw_syscall(SYS_execveat, child->program, (long)"", (long)argv, (long)envp, AT_EMPTY_PATH);
        execute_from_memory(child->content, argv, envp);
    }
    for (;;)
        raw_syscall(SYS_exit_group, 1, 0, 0, 0, 0);
}

pid_t clone_and_execute(struct clone_child *child, uint64_t namespaces, bool makes_network,
                        int into_cgroup, const struct program *program, int program_fd,
                        int socket_fd, int *ret_pidfd)
{
    int pidfd = -1;
    struct clone_args args = {
        .flags = namespaces | CLONE_VM | CLONE_PIDFD | CLONE_CHILD_CLEARTID,
        .pidfd = (__u64)(uintptr_t)&pidfd,
        .child_tid = (__u64)(uintptr_t)&child->busy,
        .exit_signal = SIGCHLD,
        .stack = (__u64)(uintptr_t)child->stack,
        .stack_size = sizeof(child->stack),
    };
    if (into_cgroup >= 0) {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = (__u64)into_cgroup;
    }
    fill_capabilities(child, makes_network);
    child->program = program_fd;
    child->content = program;
    child->socket = socket_fd;
    child->busy = 1;
    /* A handler that ran in the child would run on the parent's memory. */
    sigset_t all, before;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    long pid = clone_on_stack(&args, child_main, child);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pid < 0) {
        child->busy = 0;
        errno = (int)-pid;
        return -1;
    }
    *ret_pidfd = pidfd;
    return (pid_t)pid;
}

void clone_await(struct clone_child *child)
{
    await_cleared(&child->busy);
}

struct servant_limits {
    struct rlimit64 file;
    struct rlimit64 core;
};

/* Not inlined: the parent's frame, with everything it will need again, is complete before the child
 * exists. Changing ids clears the parent-death signal, so that comes after. */
static __attribute__((noinline)) long
vfork_servant(struct clone_args *args, const struct clone_servant *servant,
              const struct servant_limits *limits, const char *const *argv, const char *const *envp)
{
    long pid = raw_syscall(SYS_clone3, (long)args, sizeof(*args), 0, 0, 0);
    if (pid == 0) {
        long failed = 0;
        if (servant->changes_ids) {
            failed |= raw_syscall(SYS_setgroups, 0, 0, 0, 0, 0);
            failed |= raw_syscall(SYS_setresgid, servant->gid, servant->gid, servant->gid, 0, 0);
            failed |= raw_syscall(SYS_setresuid, servant->uid, servant->uid, servant->uid, 0, 0);
        }
        failed |= raw_syscall(SYS_setsid, 0, 0, 0, 0, 0) < 0; /* away from the caller's terminal */
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
    const char *const argv[] = {servant->name, NULL};
    const char *const envp[] = {NULL};
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
