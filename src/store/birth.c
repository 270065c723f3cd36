/* SPDX-License-Identifier: Apache-2.0 */
/* In a file of its own, because the kernel's header and a C library's do not get along. */
#include "store/birth.h"

#include <fcntl.h>
#include <linux/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

uint64_t store_birth_ns(int dir, const char *name)
{
    struct statx info;
    unsigned flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;
    if (syscall(SYS_statx, dir, name, flags, STATX_BTIME, &info) < 0 ||
        !(info.stx_mask & STATX_BTIME) || info.stx_btime.tv_sec < 0)
        return 0;
    return (uint64_t)info.stx_btime.tv_sec * 1000000000u + info.stx_btime.tv_nsec;
}
