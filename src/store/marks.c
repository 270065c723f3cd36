/* SPDX-License-Identifier: Apache-2.0 */
#include "store/marks.h"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "store/beneath.h"
#include "util/own.h"

/* A sandbox cannot write these: through the overlay its own user.overlay.x becomes
 * user.overlay.overlay.x, or is refused by older kernels (Documentation/filesystems/overlayfs). */
#define ATTRIBUTE_OPAQUE "user.overlay.opaque"
#define ATTRIBUTE_WHITEOUT "user.overlay.whiteout"

enum store_marks store_marks_of(int directory)
{
    char value = 0;
    if (fgetxattr(directory, ATTRIBUTE_OPAQUE, &value, 1) != 1)
        return STORE_MARK_NONE;
    if (value == 'x')
        return STORE_MARK_HAS_XWHITEOUTS;
    return value == 'y' ? STORE_MARK_OPAQUE : STORE_MARK_NONE;
}

bool store_is_whiteout(int dir, const char *name, const struct stat *info, enum store_marks marks)
{
    if (S_ISCHR(info->st_mode))
        return info->st_rdev == makedev(0, 0);
    if (marks != STORE_MARK_HAS_XWHITEOUTS || !S_ISREG(info->st_mode) || info->st_size != 0)
        return false;
    hutch_autofd int fd = store_open_file(dir, name, NULL);
    return fd >= 0 && fgetxattr(fd, ATTRIBUTE_WHITEOUT, NULL, 0) >= 0;
}
