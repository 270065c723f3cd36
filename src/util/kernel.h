/* SPDX-License-Identifier: Apache-2.0 */
/* What cannot be asked of a kernel in any other way. */
#ifndef HUTCH_UTIL_KERNEL_H
#define HUTCH_UTIL_KERNEL_H

#include <stdbool.h>
#include <stdlib.h>
#include <sys/utsname.h>

static inline bool hutch_kernel_is_at_least(int major, int minor)
{
    struct utsname name;
    char *end;
    if (uname(&name) < 0)
        return false;
    long has_major = strtol(name.release, &end, 10);
    return has_major > major ||
           (has_major == major && *end == '.' && strtol(end + 1, NULL, 10) >= minor);
}

#endif
