/* SPDX-License-Identifier: Apache-2.0 */
/* Which system calls a sandboxed program may make, as data.
 *
 * tools/gen_seccomp.c turns these tables into a BPF program when hutch is built; nothing here is
 * compiled into hutch itself.
 *
 * How to read them: every call has a list of rules, the first rule whose tests all hold decides,
 * and the last rule has no test. A call that is in no table does not exist (ENOSYS): that is what
 * an older kernel would say, so programs written with a call of tomorrow take the way they keep for
 * the kernels of yesterday. A call made through another architecture's ABI (int 0x80, x32) kills
 * the process.
 *
 * A test looks at the low 32 bits of an argument and at nothing else. All arguments tested here are
 * 32-bit integers to the kernel, which throws the upper half away; a filter that compared it could
 * be passed by setting a bit up there, and would refuse honest programs, whose compilers may leave
 * anything there. The constants have the same values on x86-64 and on aarch64. */
#ifndef HUTCH_INIT_SECCOMP_POLICY_H
#define HUTCH_INIT_SECCOMP_POLICY_H

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/stat.h>

enum hutch_seccomp_op {
    HUTCH_SECCOMP_END = 0, /* no further test */
    HUTCH_SECCOMP_EQUAL,   /* (argument & mask) == value */
    HUTCH_SECCOMP_DIFFERS, /* (argument & mask) != value */
    HUTCH_SECCOMP_ANY_BIT, /* (argument & mask) != 0 */
};

struct hutch_seccomp_test {
    uint32_t arg; /* 0 to 5 */
    enum hutch_seccomp_op op;
    uint32_t mask;
    uint32_t value;
};

enum { HUTCH_SECCOMP_ALLOW = 0, HUTCH_SECCOMP_TESTS_MAX = 4 };

struct hutch_seccomp_rule {
    int action; /* HUTCH_SECCOMP_ALLOW, or the errno the call fails with */
    struct hutch_seccomp_test tests[HUTCH_SECCOMP_TESTS_MAX];
};

/* Shorthands of the tables below, gone at the end of this file. */
// clang-format off
#define ALLOW HUTCH_SECCOMP_ALLOW
#define ALWAYS {{0, HUTCH_SECCOMP_END, 0, 0}}
#define ARG_IS(arg, value) {arg, HUTCH_SECCOMP_EQUAL, UINT32_MAX, value}
#define ARG_NOT(arg, value) {arg, HUTCH_SECCOMP_DIFFERS, UINT32_MAX, value}
#define ARG_MASKED(arg, mask, value) {arg, HUTCH_SECCOMP_EQUAL, mask, value}
#define ARG_MASKED_NOT(arg, mask, value) {arg, HUTCH_SECCOMP_DIFFERS, mask, value}
#define ARG_HAS(arg, bits) {arg, HUTCH_SECCOMP_ANY_BIT, bits, 0}
// clang-format on

/* Harmless, or harmless without capabilities, which the sandbox does not have. */
static const char *const hutch_seccomp_allowed[] = {
    /* files by descriptor */
    "read", "write", "pread64", "pwrite64", "readv", "writev", "preadv", "pwritev", "preadv2",
    "pwritev2", "lseek", "close", "close_range", "dup", "dup2", "dup3", "fcntl", "flock", "fsync",
    "fdatasync", "sync", "syncfs", "sync_file_range", "ftruncate", "fallocate", "fadvise64",
    "readahead", "sendfile", "splice", "tee", "copy_file_range", "fstat", "fstatfs", "getdents",
    "getdents64", "fchdir", "fchown", "pipe", "pipe2",
    /* files by name; mkdir is among them because the kernel itself drops setuid and setgid there */
    "stat", "lstat", "newfstatat", "statx", "statfs", "access", "faccessat", "faccessat2", "getcwd",
    "chdir", "mkdir", "mkdirat", "rmdir", "unlink", "unlinkat", "rename", "renameat", "link",
    "linkat", "symlink", "symlinkat", "readlink", "readlinkat", "truncate", "chown", "lchown",
    "fchownat", "utime", "utimes", "futimesat", "utimensat", "umask",
    /* extended attributes */
    "setxattr", "lsetxattr", "fsetxattr", "setxattrat", "getxattr", "lgetxattr", "fgetxattr",
    "getxattrat", "listxattr", "llistxattr", "flistxattr", "listxattrat", "removexattr",
    "lremovexattr", "fremovexattr", "removexattrat",
    /* waiting for events */
    "poll", "ppoll", "select", "pselect6", "epoll_create", "epoll_create1", "epoll_ctl",
    "epoll_wait", "epoll_pwait", "epoll_pwait2", "eventfd", "eventfd2", "signalfd", "signalfd4",
    "timerfd_create", "timerfd_settime", "timerfd_gettime", "inotify_init", "inotify_init1",
    "inotify_add_watch", "inotify_rm_watch",
    /* memory; the policy of one's own pages (mbind) is no more than that of one's own thread */
    "brk", "mmap", "munmap", "mremap", "mprotect", "pkey_mprotect", "pkey_alloc", "pkey_free",
    "madvise", "mincore", "msync", "mlock", "mlock2", "mlockall", "munlock", "munlockall", "mseal",
    "map_shadow_stack", "memfd_create", "mbind", "get_mempolicy", "set_mempolicy",
    /* processes and threads */
    "fork", "vfork", "execve", "execveat", "exit", "exit_group", "wait4", "waitid", "getpid",
    "getppid", "gettid", "getpgid", "getpgrp", "setpgid", "getsid", "setsid", "set_tid_address",
    "set_robust_list", "get_robust_list", "arch_prctl", "prctl", "rseq", "membarrier", "pidfd_open",
    "getrlimit", "setrlimit", "getrusage", "times", "futex", "futex_wait", "futex_wake",
    "futex_requeue", "futex_waitv",
    /* signals */
    "kill", "tkill", "tgkill", "pidfd_send_signal", "rt_sigaction", "rt_sigprocmask",
    "rt_sigpending", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "rt_sigsuspend", "rt_sigtimedwait",
    "rt_sigreturn", "sigaltstack", "pause", "restart_syscall",
    /* scheduling */
    "sched_yield", "sched_getaffinity", "sched_setaffinity", "sched_getscheduler", "sched_getparam",
    "sched_setparam", "sched_getattr", "sched_get_priority_max", "sched_get_priority_min",
    "sched_rr_get_interval", "getpriority", "setpriority", "ioprio_get", "ioprio_set", "getcpu",
    /* identity */
    "getuid", "geteuid", "getgid", "getegid", "getresuid", "getresgid", "getgroups", "setuid",
    "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setfsuid", "setfsgid", "setgroups",
    "capget", "capset",
    /* time */
    "time", "gettimeofday", "clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep",
    "alarm", "getitimer", "setitimer", "timer_create", "timer_delete", "timer_settime",
    "timer_gettime", "timer_getoverrun",
    /* connected sockets: which sockets there can be is decided by socket() below */
    "bind", "listen", "accept", "accept4", "connect", "shutdown", "getsockname", "getpeername",
    "getsockopt", "sendto", "sendmsg", "sendmmsg", "recvfrom", "recvmsg", "recvmmsg",
    /* System V and POSIX IPC, in a namespace of the sandbox's own */
    "shmget", "shmat", "shmdt", "shmctl", "semget", "semop", "semtimedop", "semctl", "msgget",
    "msgsnd", "msgrcv", "msgctl", "mq_open", "mq_unlink", "mq_timedsend", "mq_timedreceive",
    "mq_notify", "mq_getsetattr",
    /* the machine, and a program's own further confinement */
    "uname", "sysinfo", "getrandom", "seccomp", "landlock_create_ruleset", "landlock_add_rule",
    "landlock_restrict_self"};

/* The administration of a machine, ways into other processes, and large pieces of kernel that
 * sandboxed programs have no use for. Most need a capability anyway; this is the second lock. */
static const char *const hutch_seccomp_forbidden[] = {
    /* code and power of the kernel */
    "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot",
    "swapon", "swapoff", "acct", "iopl", "ioperm", "modify_ldt", "quotactl", "quotactl_fd",
    "syslog", "sethostname", "setdomainname", "vhangup", "lookup_dcookie",
    /* the clock; adjtimex's read-only form is behind a pointer */
    "clock_settime", "settimeofday", "adjtimex", "clock_adjtime",
    /* mounts and namespaces */
    "mount", "umount2", "pivot_root", "chroot", "open_tree", "open_tree_attr", "move_mount",
    "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr", "statmount", "listmount", "unshare",
    "setns",
    /* other processes */
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "pidfd_getfd", "kcmp",
    "move_pages", "migrate_pages",
    /* machinery with a long history of holes */
    "perf_event_open", "bpf", "userfaultfd", "add_key", "request_key", "keyctl",
    /* files past their names and permissions */
    "name_to_handle_at", "open_by_handle_at", "fanotify_init", "fanotify_mark",
    /* its policy, perhaps a real-time one, is behind a pointer; sched_setscheduler is checked */
    "sched_setattr"};

/* Refused as a kernel without them would, because their users know how to do without:
 * clone3 and openat2 keep behind a pointer, where a filter cannot look, the flags and the mode that
 * are checked in clone and openat, to which everybody falls back; io_uring makes calls that no
 * filter sees (libuv and liburing probe for it); memory of memfd_secret cannot be swapped and keeps
 * the host from hibernating; vmsplice has been a way to root (CVE-2008-0600) and into the pages of
 * other processes (CVE-2020-29374), and write does its work; the
 * contexts of io_setup come out of one number for the whole host (fs.aio-max-nr), and its users go
 * on without. */
static const char *const hutch_seccomp_absent[] = {
    "clone3",       "openat2",      "io_uring_setup", "io_uring_enter", "io_uring_register",
    "memfd_secret", "vmsplice",     "io_setup",       "io_destroy",     "io_submit",
    "io_cancel",    "io_getevents", "io_pgetevents"};

static const struct hutch_seccomp_rule hutch_seccomp_allow_rules[] = {{ALLOW, ALWAYS}};
static const struct hutch_seccomp_rule hutch_seccomp_forbid_rules[] = {{EPERM, ALWAYS}};
static const struct hutch_seccomp_rule hutch_seccomp_absent_rules[] = {{ENOSYS, ALWAYS}};

/* A setuid or setgid file in a workspace belongs to a user of the host, for whom the sandbox's
 * nosuid means nothing. */
#define SET_ID_BITS (S_ISUID | S_ISGID)

static const struct hutch_seccomp_rule hutch_seccomp_chmod_rules[] = {
    {EPERM, {ARG_HAS(1, SET_ID_BITS)}},
    {ALLOW, ALWAYS},
};
static const struct hutch_seccomp_rule hutch_seccomp_fchmodat_rules[] = {
    {EPERM, {ARG_HAS(2, SET_ID_BITS)}},
    {ALLOW, ALWAYS},
};

/* Without one of these flags the mode is not read, and anything may be in its register. */
#define CREATING_FLAGS (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))

static const struct hutch_seccomp_rule hutch_seccomp_open_rules[] = {
    {EPERM, {ARG_HAS(1, CREATING_FLAGS), ARG_HAS(2, SET_ID_BITS)}},
    {ALLOW, ALWAYS},
};
static const struct hutch_seccomp_rule hutch_seccomp_openat_rules[] = {
    {EPERM, {ARG_HAS(2, CREATING_FLAGS), ARG_HAS(3, SET_ID_BITS)}},
    {ALLOW, ALWAYS},
};

/* Pipes, sockets and plain files only. Since Linux 5.8 anyone may make the character device 0:0:
 * it is overlayfs's whiteout, and a workspace may become a layer. RENAME_WHITEOUT makes one too. */
static const struct hutch_seccomp_rule hutch_seccomp_mknod_rules[] = {
    {EPERM, {ARG_HAS(1, SET_ID_BITS)}},
    {EPERM, {ARG_MASKED(1, S_IFMT, S_IFCHR)}},
    {EPERM, {ARG_MASKED(1, S_IFMT, S_IFBLK)}},
    {ALLOW, ALWAYS},
};
static const struct hutch_seccomp_rule hutch_seccomp_mknodat_rules[] = {
    {EPERM, {ARG_HAS(2, SET_ID_BITS)}},
    {EPERM, {ARG_MASKED(2, S_IFMT, S_IFCHR)}},
    {EPERM, {ARG_MASKED(2, S_IFMT, S_IFBLK)}},
    {ALLOW, ALWAYS},
};
static const struct hutch_seccomp_rule hutch_seccomp_renameat2_rules[] = {
    {EPERM, {ARG_HAS(4, RENAME_WHITEOUT)}},
    {ALLOW, ALWAYS},
};

/* CLONE_NEWTIME is not here: its bit is part of clone's exit signal, so clone cannot ask for it. */
static const struct hutch_seccomp_rule hutch_seccomp_clone_rules[] = {
    {EPERM,
     {ARG_HAS(0, CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
                     CLONE_NEWNET | CLONE_NEWCGROUP)}},
    {ALLOW, ALWAYS},
};

#define SCHED_POLICY_MASK (~(uint32_t)SCHED_RESET_ON_FORK)

static const struct hutch_seccomp_rule hutch_seccomp_scheduler_rules[] = {
    {ALLOW, {ARG_MASKED(1, SCHED_POLICY_MASK, SCHED_OTHER)}},
    {ALLOW, {ARG_MASKED(1, SCHED_POLICY_MASK, SCHED_BATCH)}},
    {ALLOW, {ARG_MASKED(1, SCHED_POLICY_MASK, SCHED_IDLE)}},
    {EPERM, ALWAYS},
};

/* PID 1 is hutch's, but may have the command's user (-u 0, or an ordinary user's only one): the
 * kernel would let that user take its descriptors and its processor time away. */
static const struct hutch_seccomp_rule hutch_seccomp_prlimit_rules[] = {
    {EPERM, {ARG_IS(0, 1)}},
    {ALLOW, ALWAYS},
};

/* What uname says may be chosen, and the present personality be asked for (all ones). The other
 * flags weaken address randomisation and memory protection. */
static const struct hutch_seccomp_rule hutch_seccomp_personality_rules[] = {
    {ALLOW, {ARG_IS(0, PER_LINUX)}},  {ALLOW, {ARG_IS(0, PER_LINUX32)}},
    {ALLOW, {ARG_IS(0, UNAME26)}},    {ALLOW, {ARG_IS(0, (uint32_t)PER_LINUX32 | UNAME26)}},
    {ALLOW, {ARG_IS(0, UINT32_MAX)}}, {EPERM, ALWAYS},
};

/* TIOCSTI types into the terminal, TIOCLINUX pastes into the console, TIOCSETD puts another line
 * discipline under a terminal, TIOCCONS diverts the console's output. Of btrfs's requests only
 * those that other filesystems know too are let through: making a subvolume needs no privilege,
 * and a new one is outside the quota of the one it is in. */
#define IOCTL_TYPE_MASK 0xff00
#define IOCTL_TYPE_BTRFS 0x9400

static const struct hutch_seccomp_rule hutch_seccomp_ioctl_rules[] = {
    {EPERM, {ARG_IS(1, TIOCSTI)}},
    {EPERM, {ARG_IS(1, TIOCLINUX)}},
    {EPERM, {ARG_IS(1, TIOCSETD)}},
    {EPERM, {ARG_IS(1, TIOCCONS)}},
    {ALLOW, {ARG_MASKED_NOT(1, IOCTL_TYPE_MASK, IOCTL_TYPE_BTRFS)}},
    {ALLOW, {ARG_IS(1, FICLONE)}},
    {ALLOW, {ARG_IS(1, FICLONERANGE)}},
    {ALLOW, {ARG_IS(1, FIDEDUPERANGE)}},
    {ALLOW, {ARG_IS(1, FS_IOC_GETFSLABEL)}},
    {ENOTTY, ALWAYS},
};

/* The kernel's SOCK_TYPE_MASK: above it are SOCK_CLOEXEC and SOCK_NONBLOCK. */
#define TYPE_MASK 0xf
#define TYPE_IS(type) ARG_MASKED(1, TYPE_MASK, type)
#define TYPE_NOT(type) ARG_MASKED_NOT(1, TYPE_MASK, type)

/* UNIX sockets, TCP, UDP, and the netlink protocol that getaddrinfo and getifaddrs speak. Naming
 * the protocols keeps out what else the internet families carry (SCTP, L2TP, SMC, MPTCP), some of
 * which the kernel would load a module for. */
static const struct hutch_seccomp_rule hutch_seccomp_socket_rules[] = {
    {EAFNOSUPPORT,
     {ARG_NOT(0, AF_UNIX), ARG_NOT(0, AF_INET), ARG_NOT(0, AF_INET6), ARG_NOT(0, AF_NETLINK)}},
    {ALLOW, {ARG_IS(0, AF_NETLINK), ARG_IS(2, NETLINK_ROUTE)}},
    {EAFNOSUPPORT, {ARG_IS(0, AF_NETLINK)}},
    {EPERM, {TYPE_NOT(SOCK_STREAM), TYPE_NOT(SOCK_DGRAM), TYPE_NOT(SOCK_SEQPACKET)}},
    {ALLOW, {ARG_IS(0, AF_UNIX)}},
    {ALLOW, {TYPE_IS(SOCK_STREAM), ARG_IS(2, 0)}},
    {ALLOW, {TYPE_IS(SOCK_STREAM), ARG_IS(2, IPPROTO_TCP)}},
    {ALLOW, {TYPE_IS(SOCK_DGRAM), ARG_IS(2, 0)}},
    {ALLOW, {TYPE_IS(SOCK_DGRAM), ARG_IS(2, IPPROTO_UDP)}},
    {EPROTONOSUPPORT, ALWAYS},
};
static const struct hutch_seccomp_rule hutch_seccomp_socketpair_rules[] = {
    {EAFNOSUPPORT, {ARG_NOT(0, AF_UNIX)}},
    {EPERM, {TYPE_NOT(SOCK_STREAM), TYPE_NOT(SOCK_DGRAM), TYPE_NOT(SOCK_SEQPACKET)}},
    {ALLOW, ALWAYS},
};

/* No programs for the kernel: compiled filters share one budget of the host's (bpf_jit_limit), and
 * when that is used up nobody on it can install a seccomp filter any more. Nor is a TCP socket
 * turned into another protocol's (kernel TLS, SMC) after all. */
static const struct hutch_seccomp_rule hutch_seccomp_setsockopt_rules[] = {
    {EPERM, {ARG_IS(1, SOL_SOCKET), ARG_IS(2, SO_ATTACH_FILTER)}},
    {EPERM, {ARG_IS(1, SOL_SOCKET), ARG_IS(2, SO_ATTACH_BPF)}},
    {EPERM, {ARG_IS(1, SOL_SOCKET), ARG_IS(2, SO_ATTACH_REUSEPORT_CBPF)}},
    {EPERM, {ARG_IS(1, SOL_SOCKET), ARG_IS(2, SO_ATTACH_REUSEPORT_EBPF)}},
    {ENOPROTOOPT, {ARG_IS(1, IPPROTO_TCP), ARG_IS(2, TCP_ULP)}},
    {ALLOW, ALWAYS},
};

struct hutch_seccomp_checked_call {
    const char *name;
    const struct hutch_seccomp_rule *rules;
};

static const struct hutch_seccomp_checked_call hutch_seccomp_checked[] = {
    {"chmod", hutch_seccomp_chmod_rules},
    {"fchmod", hutch_seccomp_chmod_rules},
    {"creat", hutch_seccomp_chmod_rules},
    {"fchmodat", hutch_seccomp_fchmodat_rules},
    {"fchmodat2", hutch_seccomp_fchmodat_rules},
    {"open", hutch_seccomp_open_rules},
    {"openat", hutch_seccomp_openat_rules},
    {"mknod", hutch_seccomp_mknod_rules},
    {"mknodat", hutch_seccomp_mknodat_rules},
    {"renameat2", hutch_seccomp_renameat2_rules},
    {"clone", hutch_seccomp_clone_rules},
    {"sched_setscheduler", hutch_seccomp_scheduler_rules},
    {"prlimit64", hutch_seccomp_prlimit_rules},
    {"personality", hutch_seccomp_personality_rules},
    {"ioctl", hutch_seccomp_ioctl_rules},
    {"socket", hutch_seccomp_socket_rules},
    {"socketpair", hutch_seccomp_socketpair_rules},
    {"setsockopt", hutch_seccomp_setsockopt_rules},
};

/* Calls that a libseccomp in use may be too old to know. Their numbers are the same on every
 * architecture. Any other name it does not know stops the build. */
struct hutch_seccomp_number {
    const char *name;
    int number;
};

static const struct hutch_seccomp_number hutch_seccomp_late_numbers[] = {
    {"futex_waitv", 449},   {"fchmodat2", 452},      {"map_shadow_stack", 453},
    {"futex_wake", 454},    {"futex_wait", 455},     {"futex_requeue", 456},
    {"statmount", 457},     {"listmount", 458},      {"mseal", 462},
    {"setxattrat", 463},    {"getxattrat", 464},     {"listxattrat", 465},
    {"removexattrat", 466}, {"open_tree_attr", 467},
};

#undef ALLOW
#undef ALWAYS
#undef ARG_IS
#undef ARG_NOT
#undef ARG_MASKED
#undef ARG_MASKED_NOT
#undef ARG_HAS
#undef SET_ID_BITS
#undef CREATING_FLAGS
#undef SCHED_POLICY_MASK
#undef IOCTL_TYPE_MASK
#undef IOCTL_TYPE_BTRFS
#undef TYPE_MASK
#undef TYPE_IS
#undef TYPE_NOT

#endif
