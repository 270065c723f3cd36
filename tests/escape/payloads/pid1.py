# SPDX-License-Identifier: Apache-2.0
"""Everything a process may try on PID 1 (or on the pid given). "spare": leave out what would disturb it."""
target = int(sys.argv[1]) if len(sys.argv) > 1 else 1
spare = "spare" in sys.argv
PROC = "/proc/%d/" % target


def read(name):
    with open(PROC + name, "rb") as file:
        return require(file.read(4096), "empty")


def write(name, data):
    with open(PROC + name, "wb", buffering=0) as file:
        return file.write(data)


for name in ("environ", "maps", "smaps", "auxv", "io", "pagemap", "numa_maps", "syscall"):
    attempt("read " + name, lambda: read(name))
attempt("open mem", lambda: os.open(PROC + "mem", os.O_RDONLY))
attempt("open mem for writing", lambda: os.open(PROC + "mem", os.O_RDWR))
for name in ("exe", "cwd", "root"):
    attempt("follow " + name, lambda: os.readlink(PROC + name))
    attempt("open " + name, lambda: os.open(PROC + name, os.O_RDONLY))
attempt("write exe", lambda: os.open(PROC + "exe", os.O_WRONLY))
attempt("execute exe", lambda: os.posix_spawn(PROC + "exe", ["x"], {}))
attempt("list root", lambda: os.listdir(PROC + "root/"))
attempt("list cwd", lambda: os.listdir(PROC + "cwd/"))
for fd in range(20):
    attempt("open fd %d" % fd, lambda: os.open(PROC + "fd/%d" % fd, os.O_RDONLY))
attempt("follow fd 3", lambda: os.readlink(PROC + "fd/3"))
attempt("follow fd 0", lambda: os.readlink(PROC + "fd/0"))
attempt("read fdinfo 0", lambda: read("fdinfo/0"))
for name in ("user", "mnt", "pid", "net", "cgroup"):
    attempt("open ns " + name, lambda: os.open(PROC + "ns/" + name, os.O_RDONLY))
attempt("map_files", lambda: require(os.listdir(PROC + "map_files")))
attempt("write clear_refs", lambda: write("clear_refs", b"1"))
attempt("write uid_map", lambda: write("uid_map", b"0 0 1"))
attempt("write comm", lambda: write("comm", b"x"))
attempt("write task comm", lambda: write("task/%d/comm" % target, b"x"))
attempt("write oom_score_adj", lambda: write("oom_score_adj", b"1000"))
attempt("write coredump_filter", lambda: write("coredump_filter", b"ff"))
attempt("write autogroup", lambda: write("autogroup", b"19"))
attempt("write timerslack_ns", lambda: write("timerslack_ns", b"1000000000"))
attempt("write timens_offsets", lambda: write("timens_offsets", b"monotonic 1 0"))
PTRACE_ATTACH, PTRACE_SEIZE = 16, 0x4206
SYS_PTRACE, SYS_READV, SYS_WRITEV, SYS_KCMP, SYS_GETFD, SYS_PIDFD_OPEN = 101, 310, 311, 312, 438, 434
attempt("seize", lambda: syscall(SYS_PTRACE, PTRACE_SEIZE, target, 0, 0))
attempt("process_vm_readv", lambda: syscall(SYS_READV, target, 0, 0, 0, 0, 0))
attempt("process_vm_writev", lambda: syscall(SYS_WRITEV, target, 0, 0, 0, 0, 0))
attempt("kcmp", lambda: syscall(SYS_KCMP, os.getpid(), target, 1, 0, 0))
attempt("pidfd_getfd", lambda: syscall(SYS_GETFD, os.pidfd_open(target), 0, 0))
if not spare:
    import resource

    attempt("attach", lambda: syscall(SYS_PTRACE, PTRACE_ATTACH, target, 0, 0))
    for name in ("NOFILE", "CPU", "NPROC", "AS", "SIGPENDING", "FSIZE", "CORE"):
        attempt("prlimit " + name, lambda: resource.prlimit(target, getattr(resource, "RLIMIT_" + name), (1, 1)))
    attempt("prlimit read", lambda: resource.prlimit(target, resource.RLIMIT_NOFILE))
    attempt("nice", lambda: os.setpriority(os.PRIO_PROCESS, target, 19))
    attempt("affinity", lambda: os.sched_setaffinity(target, {0}))
    attempt("idle policy", lambda: os.sched_setscheduler(target, os.SCHED_IDLE, os.sched_param(0)))
    attempt("ioprio", lambda: syscall(251, 1, target, 3 << 13))
