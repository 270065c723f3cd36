/* SPDX-License-Identifier: Apache-2.0 */
/* Makes one entry that is not a directory. Whatever has its name makes way, and is never opened. */
#include "tar/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define NEW_MODE 0600

static int new_symlink(const struct unpack *unpack, int dir, const char *name)
{
    return symlinkat(tar_text_of(&unpack->reader.entry.link), dir, name);
}

static int new_fifo(const struct unpack *unpack, int dir, const char *name)
{
    (void)unpack;
    return mkfifoat(dir, name, NEW_MODE);
}

int unpack_clear(struct unpack *unpack, int dir, const char *name)
{
    unpack->has_replaced = true;
    if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR || !unpack->options->rules)
        return -1;
    return unpack->options->rules->remove_directory(dir, name);
}

int unpack_make_anew(unpack_making *make, struct unpack *unpack, int dir, const char *name)
{
    for (unsigned i = 0; i < 3; i++) {
        int made;
        do
            made = make(unpack, dir, name);
        while (made < 0 && unpack_become_owner(unpack, dir));
        if (made >= 0 || errno != EEXIST)
            return made;
        if (unpack_clear(unpack, dir, name) < 0)
            return -1;
    }
    return -1;
}

/* Owner and time go to what a descriptor of our own says is a symlink: the name may mean another
 * thing by now. */
static int apply_to_symlink(const struct unpack *unpack, int dir, const char *name)
{
    const struct tar_unpack_options *options = unpack->options;
    const struct tar_attributes *attributes = &unpack->reader.entry.attributes;
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, attributes->mtime};
    uid_t uid = attributes->uid;
    gid_t gid = attributes->gid;
    struct stat info;
    int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    int status = fstat(fd, &info);
    if (status == 0 && (!S_ISLNK(info.st_mode) || !unpack_is_owner(uid, gid))) {
        errno = S_ISLNK(info.st_mode) ? EINVAL : EAGAIN;
        status = -1;
    }
    if (status == 0 && options->map_owner &&
        fchownat(fd, "", uid, gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) < 0 && errno != EOVERFLOW)
        status = -1;
    /* a kernel before 5.8 cannot do this to a descriptor; a symlink's time is no reason to fail */
    if (status == 0)
        (void)utimensat(fd, "", times, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
    int saved = errno;
    (void)close(fd);
    errno = saved;
    return status;
}

static int make_symlink(struct unpack *unpack, int dir, const char *name)
{
    if (unpack->reader.entry.link.length == 0)
        return unpack_fail(unpack, TAR_MALFORMED, 0);
    if (unpack_make_anew(new_symlink, unpack, dir, name) < 0)
        return unpack_fail(unpack, TAR_TARGET, errno);
    return apply_to_symlink(unpack, dir, name) < 0 ? unpack_fail_apply(unpack, errno) : 0;
}

/* Opened for reading without waiting, a FIFO takes no harm and needs no writer. */
static int make_fifo(struct unpack *unpack, int dir, const char *name)
{
    const struct tar_entry *entry = &unpack->reader.entry;
    struct stat info;
    if (unpack_make_anew(new_fifo, unpack, dir, name) < 0)
        return unpack_fail(unpack, TAR_TARGET, errno);
    int fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
    int status = fd < 0 ? -1 : fstat(fd, &info);
    if (status == 0 && !S_ISFIFO(info.st_mode)) {
        errno = EAGAIN;
        status = -1;
    }
    if (status == 0)
        status = unpack_apply(unpack, fd, &entry->attributes);
    if (status < 0)
        status = unpack_fail(unpack, TAR_TARGET, errno);
    if (fd >= 0)
        (void)close(fd);
    return status;
}

/* The inode keeps the attributes it has. linkat does not follow its source's last component. */
static int make_link(struct unpack *unpack, int dir, const char *name)
{
    int from;
    const char *old;
    if (unpack_find_parent(unpack, unpack->link.data, &from, &old) < 0)
        return -1;
    if (unpack->options->rules && unpack->options->rules->link_source(unpack, from, old) < 0) {
        (void)close(from);
        return -1;
    }
    int status = linkat(from, old, dir, name, 0);
    if (status < 0 && errno == EEXIST) {
        struct stat one, other;
        unpack->has_replaced = true;
        if (fstatat(from, old, &one, AT_SYMLINK_NOFOLLOW) == 0 &&
            fstatat(dir, name, &other, AT_SYMLINK_NOFOLLOW) == 0 && one.st_ino == other.st_ino &&
            one.st_dev == other.st_dev)
            status = 0; /* unlinking the one would lose both */
        else if (unpack_clear(unpack, dir, name) == 0)
            status = linkat(from, old, dir, name, 0);
    }
    if (status < 0)
        status = unpack_fail(unpack, TAR_TARGET, errno);
    (void)close(from);
    return status;
}

/* Where owners are given at all. */
static void become_its_owner(struct unpack *unpack)
{
    const struct tar_attributes *attributes = &unpack->reader.entry.attributes;
    if (unpack->options->map_owner && unpack_is_owner(attributes->uid, attributes->gid))
        unpack_as(unpack, attributes->uid, attributes->gid);
}

int unpack_make(struct unpack *unpack)
{
    int dir = -1;
    const char *name = "";
    if (unpack_enter_parent(unpack, &dir, &name) < 0)
        return -1;
    become_its_owner(unpack);
    switch ((char)unpack->reader.entry.type) {
    case TAR_TYPE_FILE:
        return unpack_file(unpack, dir, name);
    case TAR_TYPE_LINK:
        return make_link(unpack, dir, name);
    case TAR_TYPE_SYMLINK:
        return make_symlink(unpack, dir, name);
    case TAR_TYPE_FIFO:
        return make_fifo(unpack, dir, name);
    default:
        return unpack_fail(unpack, TAR_KIND, 0);
    }
}
