# SPDX-License-Identifier: Apache-2.0
"""Tries to get more from its standard streams than a pipe gives."""
for fd in (1, 2):
    attempt("truncate %d" % fd, lambda: os.ftruncate(fd, 0))
    attempt("seek %d" % fd, lambda: os.lseek(fd, 0, os.SEEK_SET))
    attempt("read %d" % fd, lambda: os.read(fd, 10))
    attempt("write at %d" % fd, lambda: os.pwrite(fd, b"overwritten", 0))
    attempt("reopen truncating %d" % fd, lambda: os.ftruncate(os.open("/proc/self/fd/%d" % fd, os.O_RDWR | os.O_TRUNC | os.O_NONBLOCK), 0))
    attempt("chmod %d" % fd, lambda: require(os.fchmod(fd, 0o777) or os.fstat(fd).st_nlink == 1 and False))
    attempt("map %d" % fd, lambda: __import__("mmap").mmap(fd, 10))
    attempt("unlink %d" % fd, lambda: os.unlink(os.readlink("/proc/self/fd/%d" % fd)))
