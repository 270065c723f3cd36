/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that are refused whatever their arguments.
 *
 * The comment of a row says what the kernel answers without the filter. Where it first asks for a
 * capability, an ordinary user gets EPERM from there; root (the control run) sees the error said.
 */
#include "surface.h"

#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Calls that the C library's headers may be too old for. */
enum { NR_STATMOUNT = 457, NR_LISTMOUNT = 458, NR_OPEN_TREE_ATTR = 467 };

#define BAD_POINTER 1UL
#define BAD_FLAGS 0xffffffffUL
#define NO_FD 0xffffffffUL
#define NO_PROCESS 0x7fffffffUL

#define CALL(call, ...)                                                                 \
    {                                                                                   \
        .name = #call, .expected = EPERM, .number = SYS_##call, .args = { __VA_ARGS__ } \
    }

static const struct surface_attempt administration[] = {
    CALL(init_module, 0, 0, 0),                        /* ENOEXEC */
    CALL(finit_module, NO_FD, BAD_POINTER, BAD_FLAGS), /* EINVAL */
    CALL(delete_module, BAD_POINTER, 0),               /* EFAULT */
    CALL(kexec_load, 0, 1000, BAD_POINTER, 0x8000),    /* EINVAL */
#ifdef SYS_kexec_file_load
    CALL(kexec_file_load, NO_FD, NO_FD, 0, 0, BAD_FLAGS), /* EINVAL */
#endif
    CALL(reboot, 0, 0, 0, 0),                       /* EINVAL: the magic numbers are wrong */
    CALL(swapon, BAD_POINTER, BAD_FLAGS),           /* EINVAL */
    CALL(swapoff, BAD_POINTER),                     /* EFAULT */
    CALL(acct, BAD_POINTER),                        /* EFAULT; NULL would turn it off */
    CALL(quotactl, BAD_FLAGS, 0, 0, 0),             /* EINVAL */
    CALL(quotactl_fd, NO_FD, BAD_FLAGS, 0, 0),      /* EBADF */
    CALL(syslog, 9999, 0, 0),                       /* EINVAL */
    CALL(sethostname, BAD_POINTER, 0xffffffffUL),   /* EINVAL */
    CALL(setdomainname, BAD_POINTER, 0xffffffffUL), /* EINVAL */
    CALL(vhangup, 0),                               /* success, without a terminal */
    CALL(lookup_dcookie, 0, BAD_POINTER, 0),        /* ENOSYS or EINVAL */
    CALL(clock_settime, 9999, BAD_POINTER),         /* EINVAL */
    CALL(settimeofday, BAD_POINTER, 0),             /* EFAULT */
    CALL(adjtimex, BAD_POINTER),                    /* EFAULT */
    CALL(clock_adjtime, 9999, BAD_POINTER),         /* EFAULT */
#ifdef SYS_iopl
    CALL(iopl, 4),                /* EINVAL */
    CALL(ioperm, 65536, 1, 1),    /* EINVAL */
    CALL(modify_ldt, 9999, 0, 0), /* ENOSYS */
#endif
};

static const struct surface_attempt mounts[] = {
    CALL(mount, 0, BAD_POINTER, 0, 0, 0),                  /* EFAULT */
    CALL(umount2, BAD_POINTER, BAD_FLAGS),                 /* EINVAL */
    CALL(pivot_root, BAD_POINTER, BAD_POINTER),            /* EFAULT */
    CALL(chroot, BAD_POINTER),                             /* EFAULT */
    CALL(open_tree, NO_FD, BAD_POINTER, BAD_FLAGS),        /* EINVAL */
    CALL(move_mount, NO_FD, 0, NO_FD, 0, BAD_FLAGS),       /* EINVAL */
    CALL(fsopen, BAD_POINTER, BAD_FLAGS),                  /* EINVAL */
    CALL(fsconfig, NO_FD, 0, 0, 0, 0),                     /* EINVAL */
    CALL(fsmount, NO_FD, BAD_FLAGS, 0),                    /* EINVAL */
    CALL(fspick, NO_FD, BAD_POINTER, BAD_FLAGS),           /* EINVAL */
    CALL(mount_setattr, NO_FD, BAD_POINTER, BAD_FLAGS, 0), /* EINVAL */
    {.name = "statmount", .expected = EPERM, .number = NR_STATMOUNT, .args = {0, 0, 0, 99}},
    {.name = "listmount", .expected = EPERM, .number = NR_LISTMOUNT, .args = {0, 0, 0, 99}},
    {.name = "open_tree_attr",
     .expected = EPERM,
     .number = NR_OPEN_TREE_ATTR,
     .args = {NO_FD, BAD_POINTER, BAD_FLAGS}},
    CALL(name_to_handle_at, NO_FD, BAD_POINTER, 0, 0, BAD_FLAGS), /* EINVAL */
    CALL(open_by_handle_at, NO_FD, BAD_POINTER, 0),               /* EFAULT or EBADF */
    CALL(fanotify_init, BAD_FLAGS, 0),                            /* EINVAL */
    CALL(fanotify_mark, NO_FD, BAD_FLAGS, 0, NO_FD, 0),           /* EINVAL */
    CALL(setns, NO_FD, 0),                                        /* EBADF */
    CALL(unshare, 1),                                             /* EINVAL */
};

static const struct surface_attempt machinery[] = {
    CALL(perf_event_open, BAD_POINTER, 0, 0, NO_FD, 0), /* EFAULT */
    CALL(bpf, 9999, BAD_POINTER, 0),                    /* EINVAL */
    CALL(userfaultfd, 0x3),                             /* EINVAL: user mode only, and no flag */
    CALL(add_key, BAD_POINTER, BAD_POINTER, 0, 0, 0),   /* EFAULT */
    CALL(request_key, BAD_POINTER, BAD_POINTER, 0, 0),  /* EFAULT */
    CALL(keyctl, 9999),                                 /* EOPNOTSUPP */
    CALL(process_madvise, NO_FD, 0, 0, 0, BAD_FLAGS),   /* EINVAL */
    CALL(pidfd_getfd, NO_FD, 0, BAD_FLAGS),             /* EINVAL */
    CALL(kcmp, NO_PROCESS, NO_PROCESS, 0, 0, 0),        /* ESRCH */
    CALL(move_pages, 0, 0, 0, 0, 0, BAD_FLAGS),         /* EINVAL */
    CALL(migrate_pages, NO_PROCESS, 0, 0, 0),           /* ESRCH */
    CALL(sched_setattr, 0, 0, 0),                       /* EINVAL */
    CALL(ptrace, BAD_FLAGS, NO_PROCESS, 0, 0),          /* ESRCH */
    CALL(process_vm_readv, NO_PROCESS, 0, 0, 0, 0, BAD_FLAGS),  /* EINVAL */
    CALL(process_vm_writev, NO_PROCESS, 0, 0, 0, 0, BAD_FLAGS), /* EINVAL */
};

/* Refused as if they did not exist. */
#define ABSENT(call, ...)                                                                \
    {                                                                                    \
        .name = #call, .expected = ENOSYS, .number = SYS_##call, .args = { __VA_ARGS__ } \
    }

static const struct surface_attempt absent[] = {
    ABSENT(io_uring_setup, 0, BAD_POINTER),               /* EFAULT */
    ABSENT(io_uring_enter, NO_FD, 0, 0, BAD_FLAGS, 0, 0), /* EINVAL */
    ABSENT(io_uring_register, NO_FD, 9999, 0, 0),         /* EINVAL */
    ABSENT(io_setup, 0, BAD_POINTER),                     /* EFAULT */
    ABSENT(openat2, NO_FD, BAD_POINTER, BAD_POINTER, 0),  /* EINVAL */
    ABSENT(vmsplice, NO_FD, 0, 0, BAD_FLAGS),             /* EINVAL */
#ifdef SYS_memfd_secret
    ABSENT(memfd_secret, BAD_FLAGS), /* EINVAL */
#endif
    ABSENT(process_mrelease, NO_FD, BAD_FLAGS), /* EINVAL */
};

static long try_clone3(const struct surface_attempt *attempt)
{
    struct clone_args arguments = {.flags = attempt->args[0], .exit_signal = SIGCHLD};
    long pid = syscall(SYS_clone3, &arguments, sizeof(arguments));
    if (pid == 0)
        _exit(0);
    return pid;
}

static pid_t start_victim(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        (void)pause();
        _exit(0);
    }
    return pid;
}

static void end_victim(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, __WALL);
}

/* args: the request. The victim is a child, which Yama lets one trace. */
static long try_ptrace(const struct surface_attempt *attempt)
{
    pid_t victim = start_victim();
    long result = syscall(SYS_ptrace, attempt->args[0], victim, 0, 0);
    int saved = errno;
    end_victim(victim);
    errno = saved;
    return result;
}

static long try_traceme(const struct surface_attempt *attempt)
{
    (void)attempt;
    return syscall(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0);
}

static long try_process_vm(const struct surface_attempt *attempt)
{
    char from = 'x', to = 'y';
    struct iovec local = {&to, 1}, remote = {&from, 1};
    return syscall(attempt->number, getpid(), &local, 1, &remote, 1, 0);
}

static long try_pidfd_getfd(const struct surface_attempt *attempt)
{
    (void)attempt;
    long pidfd = syscall(SYS_pidfd_open, getpid(), 0);
    return syscall(SYS_pidfd_getfd, pidfd, 0, 0);
}

/* These would succeed; all they do ends with the child they are made in. */
static const struct surface_attempt in_earnest[] = {
    {.name = "clone3", .expected = ENOSYS, .run = try_clone3},
    {.name = "clone3 new user namespace",
     .expected = ENOSYS,
     .run = try_clone3,
     .args = {CLONE_NEWUSER}},
    {.name = "clone3 new time namespace", .expected = ENOSYS, .run = try_clone3, .args = {0x80}},
    {.name = "ptrace traceme", .expected = EPERM, .run = try_traceme},
    {.name = "ptrace attach", .expected = EPERM, .run = try_ptrace, .args = {PTRACE_ATTACH}},
    {.name = "ptrace seize", .expected = EPERM, .run = try_ptrace, .args = {PTRACE_SEIZE}},
    {.name = "process_vm_readv own",
     .expected = EPERM,
     .run = try_process_vm,
     .number = SYS_process_vm_readv},
    {.name = "process_vm_writev own",
     .expected = EPERM,
     .run = try_process_vm,
     .number = SYS_process_vm_writev},
    {.name = "pidfd_getfd own", .expected = EPERM, .run = try_pidfd_getfd},
    {.name = "unshare files", .expected = EPERM, .number = SYS_unshare, .args = {CLONE_FILES}},
    {.name = "unshare mount", .expected = EPERM, .number = SYS_unshare, .args = {CLONE_NEWNS}},
    {.name = "unshare uts", .expected = EPERM, .number = SYS_unshare, .args = {CLONE_NEWUTS}},
    {.name = "unshare ipc", .expected = EPERM, .number = SYS_unshare, .args = {CLONE_NEWIPC}},
    {.name = "unshare user", .expected = EPERM, .number = SYS_unshare, .args = {CLONE_NEWUSER}},
    {.name = "unshare pid", .expected = EPERM, .number = SYS_unshare, .args = {CLONE_NEWPID}},
    {.name = "unshare net", .expected = EPERM, .number = SYS_unshare, .args = {CLONE_NEWNET}},
    {.name = "unshare cgroup", .expected = EPERM, .number = SYS_unshare, .args = {CLONE_NEWCGROUP}},
    {.name = "unshare time", .expected = EPERM, .number = SYS_unshare, .args = {0x80}},
};

static void try_all(struct surface *surface, const struct surface_attempt *attempts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        surface_denied(surface, &attempts[i]);
}

void surface_syscalls(struct surface *surface)
{
    try_all(surface, administration, SURFACE_COUNT(administration));
    try_all(surface, mounts, SURFACE_COUNT(mounts));
    try_all(surface, machinery, SURFACE_COUNT(machinery));
    try_all(surface, absent, SURFACE_COUNT(absent));
    try_all(surface, in_earnest, SURFACE_COUNT(in_earnest));
}
