# SPDX-License-Identifier: Apache-2.0
"""What the hostile programs have in common: it stands before each of them."""
import ctypes
import errno
import os
import sys

libc = ctypes.CDLL(None, use_errno=True)


def attempt(name, function):
    """Makes one attempt and tells what became of it."""
    try:
        result = function()
    except OSError as error:
        print(name, "refused (%s)" % errno.errorcode.get(error.errno, error.errno), flush=True)
        return None
    except BaseException as error:  # whatever else stopped it
        print(name, "refused (%r)" % error, flush=True)
        return None
    print(name, "DONE (%.60r)" % (result,), flush=True)
    return result


def syscall(number, *args):
    """A bare system call; raises OSError."""
    arguments = [a if isinstance(a, bytes) else ctypes.c_long(a) if isinstance(a, int) else a for a in args]
    result = libc.syscall(ctypes.c_long(number), *arguments)
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def require(condition, what="not so"):
    if not condition:
        raise OSError(errno.EPERM, what)
    return condition


