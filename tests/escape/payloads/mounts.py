# SPDX-License-Identifier: Apache-2.0
"""Devices in the directories given, mounts by the old calls and the new, and namespaces of one's own."""
AT_FDCWD = -100
MS_BIND, MS_REMOUNT, MS_MOVE = 4096, 32, 8192
SYS_MOUNT, SYS_UMOUNT2, SYS_PIVOT_ROOT, SYS_CHROOT, SYS_UNSHARE, SYS_SETNS = 165, 166, 155, 161, 272, 308
SYS_OPEN_TREE, SYS_MOVE_MOUNT, SYS_FSOPEN, SYS_FSPICK, SYS_MOUNT_SETATTR = 428, 429, 430, 433, 442
os.makedirs("/tmp/mnt", exist_ok=True)

for name, mode, device in (("vda", 0o60666, (254, 0)), ("sda", 0o60666, (8, 0)), ("mem", 0o20666, (1, 1)), ("kmsg", 0o20666, (1, 11)),
                           ("null", 0o20666, (1, 3)), ("fuse", 0o20666, (10, 229)), ("whiteout", 0o20666, (0, 0)),
                           ("tty", 0o20666, (5, 1))):
    for place in sys.argv[1:]:
        attempt("mknod %s in %s" % (name, place), lambda: os.mknod("%s/node-%s" % (place, name), mode, os.makedev(*device)))


def mount(source, target, kind, flags, data=b""):
    return syscall(SYS_MOUNT, source, target, kind, flags, data)


attempt("tmpfs", lambda: mount(b"none", b"/tmp/mnt", b"tmpfs", 0))
attempt("proc", lambda: mount(b"none", b"/tmp/mnt", b"proc", 0))
attempt("sysfs", lambda: mount(b"none", b"/tmp/mnt", b"sysfs", 0))
attempt("cgroup", lambda: mount(b"none", b"/tmp/mnt", b"cgroup", 0, b"memory"))
attempt("cgroup2", lambda: mount(b"none", b"/tmp/mnt", b"cgroup2", 0))
attempt("bind", lambda: mount(b"/usr", b"/tmp/mnt", b"", MS_BIND))
attempt("remount /usr", lambda: mount(b"", b"/usr", b"", MS_BIND | MS_REMOUNT))
attempt("remount /proc", lambda: mount(b"", b"/proc", b"", MS_BIND | MS_REMOUNT))
attempt("move", lambda: mount(b"/usr", b"/tmp/mnt", b"", MS_MOVE))
attempt("umount /proc", lambda: syscall(SYS_UMOUNT2, b"/proc", 2))
attempt("umount /proc/keys", lambda: syscall(SYS_UMOUNT2, b"/proc/keys", 2))
attempt("umount /dev/null", lambda: syscall(SYS_UMOUNT2, b"/dev/null", 2))
attempt("umount /", lambda: syscall(SYS_UMOUNT2, b"/", 2))
attempt("pivot_root", lambda: syscall(SYS_PIVOT_ROOT, b"/tmp", b"/tmp/mnt"))
attempt("chroot", lambda: syscall(SYS_CHROOT, b"/tmp"))
attempt("open_tree", lambda: syscall(SYS_OPEN_TREE, AT_FDCWD, b"/usr", 1))
attempt("move_mount", lambda: syscall(SYS_MOVE_MOUNT, AT_FDCWD, b"/usr", AT_FDCWD, b"/tmp/mnt", 0))
attempt("fsopen", lambda: syscall(SYS_FSOPEN, b"tmpfs", 0))
attempt("fspick", lambda: syscall(SYS_FSPICK, AT_FDCWD, b"/", 0))
attempt("mount_setattr", lambda: syscall(SYS_MOUNT_SETATTR, AT_FDCWD, b"/usr", 0, b"\0" * 32, 32))
for name, flag in (("user", 0x10000000), ("mnt", 0x20000), ("pid", 0x20000000), ("net", 0x40000000), ("cgroup", 0x2000000),
                   ("ipc", 0x8000000), ("uts", 0x4000000), ("time", 0x80)):
    attempt("unshare " + name, lambda: syscall(SYS_UNSHARE, flag))
    attempt("unshare user and " + name, lambda: syscall(SYS_UNSHARE, flag | 0x10000000))
    attempt("setns " + name, lambda: syscall(SYS_SETNS, os.open("/proc/self/ns/" + name, os.O_RDONLY), 0))
