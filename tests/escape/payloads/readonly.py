# SPDX-License-Identifier: Apache-2.0
"""Tries to change what is mounted read-only at the first argument, or to carry it over to the second."""
import mmap

given, own = sys.argv[1], sys.argv[2]
target = given + "/file"
SYS_LINKAT, AT_FDCWD, AT_SYMLINK_FOLLOW, AT_EMPTY_PATH = 265, -100, 0x400, 0x1000


def reopened(flags):
    held = os.open(target, os.O_RDONLY)
    return os.open("/proc/self/fd/%d" % held, flags)


def linked(name):
    held = os.open(target, os.O_RDONLY)
    return syscall(SYS_LINKAT, AT_FDCWD, b"/proc/self/fd/%d" % held, AT_FDCWD, name.encode(), AT_SYMLINK_FOLLOW)


attempt("write", lambda: os.open(target, os.O_WRONLY))
attempt("append", lambda: os.open(target, os.O_WRONLY | os.O_APPEND))
attempt("reopen for writing", lambda: reopened(os.O_WRONLY))
attempt("by /proc/self/root", lambda: os.open("/proc/self/root" + target, os.O_WRONLY))
attempt("link within", lambda: os.link(target, given + "/link"))
attempt("link out", lambda: os.link(target, own + "/link"))
attempt("link out by descriptor", lambda: linked(own + "/link2"))
attempt("chmod", lambda: os.chmod(target, 0o777))
attempt("chmod of the directory", lambda: os.chmod(given, 0o777))
attempt("chown", lambda: os.chown(target, os.getuid(), os.getgid()))
attempt("utime", lambda: os.utime(target, (1, 1)))
attempt("xattr", lambda: os.setxattr(target, "user.x", b"1"))
attempt("map shared", lambda: mmap.mmap(os.open(target, os.O_RDONLY), 1, mmap.MAP_SHARED, mmap.PROT_WRITE))
attempt("fallocate", lambda: os.posix_fallocate(os.open(target, os.O_RDONLY), 0, 10))
attempt("create", lambda: os.open(given + "/new", os.O_CREAT | os.O_WRONLY))
attempt("mkdir", lambda: os.mkdir(given + "/dir"))
attempt("symlink", lambda: os.symlink("x", given + "/symlink"))
attempt("rename in", lambda: os.rename(own + "/none", given + "/placed"))
attempt("reopen truncating", lambda: reopened(os.O_RDWR | os.O_TRUNC))
attempt("truncate", lambda: os.truncate(target, 0))
attempt("rename", lambda: os.rename(target, given + "/other"))
attempt("rename out", lambda: os.rename(target, own + "/taken"))
attempt("unlink", lambda: os.unlink(target))
