# SPDX-License-Identifier: Apache-2.0
"""Tries to write to the root, by every way that leads there, and to make it writable again."""
import socket

AT_FDCWD, AT_EMPTY_PATH = -100, 0x1000
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_MOVE, MS_REC = 1, 32, 4096, 8192, 16384
SYS_MOUNT, SYS_UMOUNT2, SYS_PIVOT_ROOT, SYS_CHROOT, SYS_UNSHARE = 165, 166, 155, 161, 272
SYS_OPEN_TREE, SYS_MOVE_MOUNT, SYS_FSPICK, SYS_MOUNT_SETATTR, SYS_LINKAT = 428, 429, 433, 442, 265
WRITE = os.O_CREAT | os.O_WRONLY
own, mine = "/tmp/own-%d" % os.getuid(), "/tmp/file-%d" % os.getuid()  # another user may come after this one
os.makedirs(own, exist_ok=True)
open(mine, "w").close()


def above(place):
    """Out of a directory that is writable, by its descriptor."""
    return os.open("../etc/above", WRITE, dir_fd=os.open(place, os.O_RDONLY | os.O_DIRECTORY))


def held(path):
    return os.open("etc/held", WRITE, dir_fd=os.open(path, os.O_RDONLY | os.O_DIRECTORY))


def listen(path):
    socket.socket(socket.AF_UNIX).bind(path)


def clear_attributes(*flags):
    """MOUNT_ATTR_RDONLY is 1, and in attr_clr."""
    return syscall(SYS_MOUNT_SETATTR, AT_FDCWD, b"/", *flags, (0).to_bytes(8, "little") + (1).to_bytes(8, "little") + b"\0" * 16, 32)


attempt("create", lambda: os.open("/new", WRITE))
attempt("create in etc", lambda: os.open("/etc/new", WRITE))
attempt("append", lambda: os.open("/etc/passwd", os.O_WRONLY | os.O_APPEND))
attempt("chmod", lambda: os.chmod("/etc", 0o777))
attempt("utime", lambda: os.utime("/etc/passwd"))
attempt("mkdir", lambda: os.mkdir("/dir"))
attempt("symlink", lambda: os.symlink("x", "/etc/symlink"))
attempt("rename in", lambda: os.rename(own, "/etc/own"))
attempt("link in", lambda: os.link(mine, "/etc/link"))
attempt("socket", lambda: listen("/etc/socket"))
attempt("fifo", lambda: os.mkfifo("/etc/fifo"))
attempt("unnamed file", lambda: os.open("/etc", os.O_TMPFILE | os.O_WRONLY))
attempt("by /proc/self/root", lambda: os.open("/proc/self/root/etc/by-root", WRITE))
attempt("by /proc/1/root", lambda: os.open("/proc/1/root/etc/by-init", WRITE))
attempt("by a descriptor", lambda: held("/"))
attempt("out of /tmp", lambda: above("/tmp"))
attempt("out of /workspace", lambda: above("/workspace"))
attempt("in /dev", lambda: os.open("/dev/new", WRITE))
attempt("in /run", lambda: os.open("/run/new", WRITE))
attempt("rename", lambda: os.rename("/etc/passwd", "/etc/other"))
attempt("truncate", lambda: os.truncate("/etc/group", 0))
attempt("unlink", lambda: os.unlink("/etc/group"))

attempt("remount", lambda: syscall(SYS_MOUNT, b"", b"/", b"", MS_REMOUNT, b""))
attempt("remount the bind", lambda: syscall(SYS_MOUNT, b"", b"/", b"", MS_REMOUNT | MS_BIND, b""))
attempt("mount_setattr", lambda: clear_attributes(0))
attempt("mount_setattr of all", lambda: clear_attributes(0x8000))
attempt("bind over", lambda: syscall(SYS_MOUNT, b"/tmp", b"/etc", b"", MS_BIND, b""))
attempt("bind it", lambda: syscall(SYS_MOUNT, b"/", own.encode(), b"", MS_BIND | MS_REC, b""))
attempt("move over", lambda: syscall(SYS_MOUNT, b"/tmp", b"/etc", b"", MS_MOVE, b""))
attempt("tmpfs over", lambda: syscall(SYS_MOUNT, b"none", b"/etc", b"tmpfs", 0, b""))
attempt("clone", lambda: syscall(SYS_OPEN_TREE, AT_FDCWD, b"/", 1))
attempt("fspick", lambda: syscall(SYS_FSPICK, AT_FDCWD, b"/", 0))
attempt("take /tmp off", lambda: syscall(SYS_UMOUNT2, b"/tmp", 2))
attempt("take / off", lambda: syscall(SYS_UMOUNT2, b"/", 2))
attempt("pivot_root", lambda: syscall(SYS_PIVOT_ROOT, b"/tmp", own.encode()))
attempt("chroot", lambda: syscall(SYS_CHROOT, b"/tmp"))
attempt("a namespace", lambda: syscall(SYS_UNSHARE, 0x20000))
attempt("namespaces", lambda: syscall(SYS_UNSHARE, 0x10020000))
