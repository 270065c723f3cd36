/* SPDX-License-Identifier: Apache-2.0 */
/* Instead of musl's, which asks for O_CLOEXEC a second time, of kernels that did not know it. */
#include <fcntl.h>
#include <stdarg.h>

int open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    if (flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))) {
        va_list args;
        va_start(args, flags);
        mode = va_arg(args, mode_t);
        va_end(args);
    }
    return openat(AT_FDCWD, path, flags, mode);
}
