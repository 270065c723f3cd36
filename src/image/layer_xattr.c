/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <linux/limits.h>
#include <string.h>
#include <sys/xattr.h>

#include "image/layer_rules.h"

/* An inode with more than this is nothing that a filesystem could hold. */
#define MAX_XATTRS 256

static bool begins_with(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* What security.* means is for the host to say: capabilities would be none in a sandbox anyway, and
 * labels belong to the host's own policy. */
bool layer_keeps_xattr(const char *name)
{
    static const char *const kept[] = {"user.", "trusted.", "system.posix_acl_"};
    static const char *const dropped[] = {"user.overlay.", "trusted.overlay."};
    for (size_t i = 0; i < TAR_COUNT(dropped); i++)
        if (begins_with(name, dropped[i]))
            return false;
    for (size_t i = 0; i < TAR_COUNT(kept); i++)
        if (begins_with(name, kept[i]))
            return true;
    return false;
}

/* Not every filesystem has every kind, and not everybody may set every one. */
static bool is_unsupported(int os_errno)
{
    return os_errno == EOPNOTSUPP || os_errno == EPERM;
}

int layer_set_xattrs(struct unpack *unpack, int fd)
{
    const struct tar_text *xattrs = &unpack->reader.entry.xattrs;
    const char *name, *value;
    size_t at = 0, length;
    unsigned count = 0;
    while (tar_pax_next_xattr(xattrs, &at, &name, &value, &length)) {
        if (++count > MAX_XATTRS || length > XATTR_SIZE_MAX || strlen(name) > XATTR_NAME_MAX)
            return unpack_fail(unpack, TAR_TOO_LONG, 0);
        if (length > unpack->bytes_left)
            return unpack_fail(unpack, TAR_TOO_BIG, 0);
        unpack->bytes_left -= length;
        if (layer_keeps_xattr(name) && fsetxattr(fd, name, value, length, 0) < 0 &&
            !is_unsupported(errno))
            return unpack_fail(unpack, TAR_TARGET, errno);
    }
    return 0;
}
