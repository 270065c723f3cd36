/* SPDX-License-Identifier: Apache-2.0 */
/* What cannot be asked of a kernel in any other way. */
#ifndef HUTCH_UTIL_KERNEL_H
#define HUTCH_UTIL_KERNEL_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/utsname.h>

static inline bool hutch_kernel_is_at_least(int major, int minor)
{
    struct utsname name;
    int has_major = 0, has_minor = 0;
    return uname(&name) == 0 && sscanf(name.release, "%d.%d", &has_major, &has_minor) == 2 &&
           (has_major > major || (has_major == major && has_minor >= minor));
}

#endif
