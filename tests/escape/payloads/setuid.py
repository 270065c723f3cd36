# SPDX-License-Identifier: Apache-2.0
"""Tries to leave a setuid or setgid file behind in the current directory, by every call that takes a mode."""
import io
import shutil
import socket
import struct
import subprocess
import tarfile

AT_FDCWD = -100
SYS = {"open": 2, "creat": 85, "chmod": 90, "fchmod": 91, "mknod": 133, "openat": 257, "mknodat": 259, "fchmodat": 268,
       "openat2": 437, "fchmodat2": 452, "io_uring_setup": 425, "mkdir": 83, "linkat": 265, "setxattr": 188, "file_setattr": 469}
O_CREAT = os.O_CREAT | os.O_WRONLY
DIRTY = 0xDEADBEEF00000000 - (1 << 64)
os.umask(0)


def plain(name):
    os.close(os.open(name, O_CREAT, 0o755))
    return name.encode()


def has_bits(name):
    return require(os.lstat(name).st_mode & 0o6000, "no such bit") and oct(os.lstat(name).st_mode)


def checked(name, function):
    """The call may say what it likes: the file's mode tells."""
    def run():
        function()
        return has_bits(name)
    attempt(name, run)


for bits in (0o4755, 0o2755, 0o6777, 0o104755):
    tag = "%o " % bits
    checked(tag + "chmod", lambda: syscall(SYS["chmod"], plain(tag + "chmod"), bits))
    checked(tag + "chmod dirty", lambda: syscall(SYS["chmod"], plain(tag + "chmod dirty"), bits | DIRTY))
    checked(tag + "fchmod", lambda: syscall(SYS["fchmod"], os.open(plain(tag + "fchmod"), os.O_RDONLY), bits))
    checked(tag + "fchmodat", lambda: syscall(SYS["fchmodat"], AT_FDCWD, plain(tag + "fchmodat"), bits))
    checked(tag + "fchmodat2", lambda: syscall(SYS["fchmodat2"], AT_FDCWD, plain(tag + "fchmodat2"), bits, 0))
    checked(tag + "fchmodat2 empty path", lambda: syscall(
        SYS["fchmodat2"], os.open(plain(tag + "fchmodat2 empty path"), os.O_RDONLY), b"", bits, 0x1000))
    checked(tag + "open", lambda: syscall(SYS["open"], (tag + "open").encode(), O_CREAT, bits))
    checked(tag + "open dirty", lambda: syscall(SYS["open"], (tag + "open dirty").encode(), O_CREAT | DIRTY, bits | DIRTY))
    checked(tag + "creat", lambda: syscall(SYS["creat"], (tag + "creat").encode(), bits))
    checked(tag + "openat", lambda: syscall(SYS["openat"], AT_FDCWD, (tag + "openat").encode(), O_CREAT, bits))
    checked(tag + "openat2", lambda: syscall(SYS["openat2"], AT_FDCWD, (tag + "openat2").encode(),
                                             struct.pack("QQQ", O_CREAT, bits & 0o7777, 0), 24))
    checked(tag + "mknod", lambda: syscall(SYS["mknod"], (tag + "mknod").encode(), 0o100000 | bits, 0))
    checked(tag + "mknodat", lambda: syscall(SYS["mknodat"], AT_FDCWD, (tag + "mknodat").encode(), 0o100000 | bits, 0))
    checked(tag + "fifo", lambda: os.mkfifo(tag + "fifo", bits & 0o7777))
    checked(tag + "mkdir", lambda: syscall(SYS["mkdir"], (tag + "mkdir").encode(), bits))

    def unnamed(name):
        fd = syscall(SYS["openat"], AT_FDCWD, b".", os.O_TMPFILE | os.O_RDWR, bits)
        syscall(SYS["linkat"], AT_FDCWD, b"/proc/self/fd/%d" % fd, AT_FDCWD, name.encode(), 0x400)
    checked(tag + "unnamed", lambda: unnamed(tag + "unnamed"))

    def bound(name):
        server = socket.socket(socket.AF_UNIX)
        os.fchmod(server.fileno(), bits & 0o7777)
        server.bind(name)
    checked(tag + "socket", lambda: bound(tag + "socket"))

    def unpack(name):
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            member = tarfile.TarInfo(name)
            member.mode = bits & 0o7777
            tar.addfile(member)
        archive.seek(0)
        tarfile.open(fileobj=archive).extractall()
    checked(tag + "tar", lambda: unpack(tag + "tar"))
    checked(tag + "install", lambda: subprocess.run(
        ["install", "-m", "%o" % (bits & 0o7777), "/bin/true", tag + "install"], check=True, stderr=subprocess.DEVNULL))
    checked(tag + "chmod tool", lambda: subprocess.run(
        ["chmod", "%o" % (bits & 0o7777), plain(tag + "chmod tool")], check=True, stderr=subprocess.DEVNULL))

for source in ("/usr/bin/passwd", "/usr/bin/su", "/usr/bin/mount"):
    if os.path.exists(source):
        name = "copy of " + os.path.basename(source)
        checked(name, lambda: subprocess.run(["cp", "-p", source, name], check=True, stderr=subprocess.DEVNULL))
        checked(name + " 2", lambda: shutil.copy2(source, name + " 2"))


def acl():
    # version 2; owner, group and others with every bit set that the format has room for
    entries = b"".join(struct.pack("<HHI", tag, 0xFFFF, 0xFFFFFFFF) for tag in (1, 4, 0x20))
    os.setxattr(plain("acl"), "system.posix_acl_access", struct.pack("<I", 2) + entries)


checked("acl", acl)


def capability():
    os.setxattr(plain("capability"), "security.capability", struct.pack("<IIIII", 0x02000001, 0xFFFFFFFF, 0, 0xFFFFFFFF, 0))
    return "set"


attempt("capability", capability)
