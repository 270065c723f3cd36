/* SPDX-License-Identifier: Apache-2.0 */
/* Makes one entry that is not a directory. Whatever has its name is unlinked, never opened. */
#include "tar/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tar/out.h"

#define NEW_FILE (O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC)
#define NEW_MODE 0600

/* ---- content ---- */

static int copy(struct unpack *unpack, int out, uint64_t length)
{
    while (length) {
        const char *data;
        long got = tar_reader_content(&unpack->reader, length, &data);
        if (got <= 0)
            return got < 0 ? -1 : unpack_fail(unpack, TAR_TRUNCATED, 0);
        if (tar_write_all(out, data, (size_t)got) < 0)
            return unpack_fail(unpack, TAR_TARGET, errno);
        length -= (uint64_t)got;
    }
    return 0;
}

static int leave_hole(const struct unpack *unpack, int out, uint64_t length, bool seekable)
{
    static const char zeros[4096];
    if (length && seekable && lseek(out, (off_t)length, SEEK_CUR) < 0)
        return unpack_fail(unpack, TAR_TARGET, errno);
    while (!seekable && length) {
        size_t part = TAR_MIN(sizeof(zeros), length);
        if (tar_write_all(out, zeros, part) < 0)
            return unpack_fail(unpack, TAR_TARGET, errno);
        length -= part;
    }
    return 0;
}

int unpack_content(struct unpack *unpack, int out, bool seekable)
{
    const struct tar_entry *entry = &unpack->reader.entry;
    uint64_t at = 0;
    if (!entry->sparse)
        return copy(unpack, out, entry->file_size);
    for (size_t i = 0; i < entry->regions.count; i++) {
        const struct tar_region *region = &entry->regions.items[i];
        if (leave_hole(unpack, out, region->offset - at, seekable) < 0 ||
            copy(unpack, out, region->length) < 0)
            return -1;
        at = region->offset + region->length;
    }
    if (leave_hole(unpack, out, entry->file_size - at, seekable) < 0)
        return -1;
    if (seekable && ftruncate(out, (off_t)entry->file_size) < 0)
        return unpack_fail(unpack, TAR_TARGET, errno);
    return 0;
}

/* ---- making ---- */

typedef int making(const struct unpack *unpack, int dir, const char *name);

/* What is copied is nobody else's before it is whole. Nobody else sees the files of an archive with
 * rules meanwhile, so they mostly have the right mode at once. */
static int new_file(const struct unpack *unpack, int dir, const char *name)
{
    mode_t mode = unpack->options->rules ? unpack->reader.entry.attributes.mode & 0777 : 0;
    return openat(dir, name, NEW_FILE, NEW_MODE | mode);
}

static int new_symlink(const struct unpack *unpack, int dir, const char *name)
{
    return symlinkat(tar_text_of(&unpack->reader.entry.link), dir, name);
}

static int new_fifo(const struct unpack *unpack, int dir, const char *name)
{
    (void)unpack;
    return mkfifoat(dir, name, NEW_MODE);
}

int unpack_clear(const struct unpack *unpack, int dir, const char *name)
{
    if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR || !unpack->options->rules)
        return -1;
    return unpack->options->rules->remove_directory(dir, name);
}

/* Makes it in the place of what was there before. Returns what make returns, -1 with errno. */
static int make_anew(making *make, const struct unpack *unpack, int dir, const char *name)
{
    for (unsigned i = 0; i < 3; i++) {
        int made = make(unpack, dir, name);
        if (made >= 0 || errno != EEXIST)
            return made;
        if (unpack_clear(unpack, dir, name) < 0)
            return -1;
    }
    return -1;
}

static int make_file(struct unpack *unpack, int dir, const char *name)
{
    const struct tar_attributes *attributes = &unpack->reader.entry.attributes;
    int fd = make_anew(new_file, unpack, dir, name);
    if (fd < 0)
        return unpack_fail(unpack, TAR_TARGET, errno);
    int status = unpack_content(unpack, fd, true);
    if (status == 0 && unpack->options->rules)
        status = unpack->options->rules->file(unpack, fd);
    if (status == 0 && unpack_apply(unpack, fd, attributes) < 0)
        status = unpack_fail_apply(unpack, errno);
    if (close(fd) < 0 && status == 0) /* some filesystems tell only now that they are full */
        status = unpack_fail(unpack, TAR_TARGET, errno);
    if (status < 0)
        (void)unlinkat(dir, name, 0); /* half a file must not pass for one */
    return status;
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
    if (options->map_owner)
        options->map_owner(options->context, &uid, &gid);
    int status = fstat(fd, &info);
    if (status == 0 && (!S_ISLNK(info.st_mode) || !unpack_is_owner(uid, gid))) {
        errno = S_ISLNK(info.st_mode) ? EINVAL : EAGAIN;
        status = -1;
    }
    if (status == 0 && options->map_owner)
        status = fchownat(fd, "", uid, gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
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
    if (make_anew(new_symlink, unpack, dir, name) < 0)
        return unpack_fail(unpack, TAR_TARGET, errno);
    return apply_to_symlink(unpack, dir, name) < 0 ? unpack_fail_apply(unpack, errno) : 0;
}

/* Opened for reading without waiting, a FIFO takes no harm and needs no writer. */
static int make_fifo(struct unpack *unpack, int dir, const char *name)
{
    const struct tar_entry *entry = &unpack->reader.entry;
    struct stat info;
    if (make_anew(new_fifo, unpack, dir, name) < 0)
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

int unpack_make(struct unpack *unpack)
{
    int dir = -1;
    const char *name = "";
    if (unpack_enter_parent(unpack, &dir, &name) < 0)
        return -1;
    switch ((char)unpack->reader.entry.type) {
    case TAR_TYPE_FILE:
        return make_file(unpack, dir, name);
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
