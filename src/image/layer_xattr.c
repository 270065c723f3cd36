/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <linux/limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "image/layer_pack.h"
#include "image/layer_rules.h"
#include "util/own.h"

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
        if (layer_keeps_xattr(name) && fsetxattr(fd, name, value, length, 0) < 0 &&
            !is_unsupported(errno))
            return unpack_fail(unpack, TAR_TARGET, errno);
    }
    return 0;
}

/* ---- packing ---- */

static int compare(const void *one, const void *other)
{
    return strcmp(*(const char *const *)one, *(const char *const *)other);
}

static int add_xattr(int fd, const char *name, char *value, struct tar_text *xattrs)
{
    ssize_t length = fgetxattr(fd, name, value, XATTR_SIZE_MAX);
    if (length < 0) /* gone meanwhile, or not for us */
        return errno == ENODATA || errno == EPERM || errno == EOPNOTSUPP ? 0 : -1;
    return tar_pax_add_xattr(xattrs, name, strlen(name), value, (size_t)length);
}

static int add_sorted(int fd, char *list, size_t length, struct tar_text *xattrs)
{
    const char *names[MAX_XATTRS];
    size_t count = 0;
    for (const char *at = list; at < list + length; at += strlen(at) + 1)
        if (count < MAX_XATTRS && layer_keeps_xattr(at))
            names[count++] = at;
    if (count == 0)
        return 0;
    hutch_autofree char *value = malloc(XATTR_SIZE_MAX);
    if (!value)
        return -1;
    qsort(names, count, sizeof(*names), compare);
    for (size_t i = 0; i < count; i++)
        if (add_xattr(fd, names[i], value, xattrs) < 0)
            return -1;
    return 0;
}

int layer_get_xattrs(int fd, struct tar_text *xattrs)
{
    char few[1024];
    ssize_t length = flistxattr(fd, few, sizeof(few));
    if (length >= 0)
        return add_sorted(fd, few, (size_t)length, xattrs);
    if (errno != ERANGE)
        return errno == EOPNOTSUPP ? 0 : -1;
    hutch_autofree char *many = malloc(XATTR_LIST_MAX);
    length = many ? flistxattr(fd, many, XATTR_LIST_MAX) : -1;
    return length < 0 ? -1 : add_sorted(fd, many, (size_t)length, xattrs);
}
