/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a regular file. It gets its name when it is whole, content, owner, mode and time, and not
 * before: a copy that is killed leaves what had the name until then, and nobody can put another
 * thing in the file's place meanwhile.
 *
 * In a directory that this copy has made, closed until the copy leaves it, and wherever an archive
 * with rules is unpacked, files are made where they belong, which costs the kernel less. A copy
 * that is killed may leave half a file there, in a directory that is not whole either. */
#include "tar/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tar/draft.h"
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

static int copy_whole(struct unpack *unpack, int out, bool seekable)
{
    uint64_t left = unpack->reader.entry.file_size, large = unpack->options->direct_from;
    if (seekable && large && left >= large && unpack_direct(unpack, out, &left) < 0)
        return -1;
    return copy(unpack, out, left);
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
        return copy_whole(unpack, out, seekable);
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

/* Content and attributes. */
static int fill(struct unpack *unpack, int fd)
{
    const struct tar_rules *rules = unpack->options->rules;
    if (unpack_content(unpack, fd, true) < 0 || (rules && rules->file(unpack, fd) < 0))
        return -1;
    if (unpack_apply(unpack, fd, &unpack->reader.entry.attributes) < 0)
        return unpack_fail_apply(unpack, errno);
    return 0;
}

/* ---- a file that gets its name when it is whole ---- */

static int make_by_draft(struct unpack *unpack, int dir, const char *name)
{
    struct tar_draft draft;
    while (tar_draft_open(&draft, dir) < 0)
        if (!unpack_become_owner(unpack, dir))
            return unpack_fail(unpack, TAR_TARGET, errno);
    int status = fill(unpack, draft.fd);
    if (status == 0 && tar_draft_publish(&draft, dir, name) < 0)
        status = unpack_fail(unpack, TAR_TARGET, errno);
    if (status < 0)
        tar_draft_drop(&draft, dir);
    if (close(draft.fd) < 0 &&
        status == 0) { /* some filesystems tell only now that they are full */
        status = unpack_fail(unpack, TAR_TARGET, errno);
        (void)unlinkat(dir, name, 0); /* half a file must not pass for one */
    }
    return status;
}

/* ---- a file in its place ---- */

static int new_file(const struct unpack *unpack, int dir, const char *name)
{
    mode_t mode = unpack->reader.entry.attributes.mode & 0777;
    return openat(dir, name, NEW_FILE, NEW_MODE | mode);
}

/* Somebody may be in a directory of ours after all, by an idmapped mount: a file with a name must
 * never have another owner than it is to have, who could keep it open. */
static bool is_born_right(const struct unpack *unpack, int fd)
{
    const struct tar_attributes *attributes = &unpack->reader.entry.attributes;
    struct stat info;
    return !unpack->options->map_owner ||
           (fstat(fd, &info) == 0 && info.st_uid == attributes->uid &&
            info.st_gid == attributes->gid);
}

static int make_in_place(struct unpack *unpack, int dir, const char *name)
{
    int fd = unpack_make_anew(new_file, unpack, dir, name);
    if (fd < 0)
        return unpack_fail(unpack, TAR_TARGET, errno);
    if (!unpack->options->rules && !is_born_right(unpack, fd)) {
        (void)unlinkat(dir, name, 0);
        (void)close(fd);
        return make_by_draft(unpack, dir, name);
    }
    int status = fill(unpack, fd);
    if (close(fd) < 0 && status == 0)
        status = unpack_fail(unpack, TAR_TARGET, errno);
    if (status < 0)
        (void)unlinkat(dir, name, 0);
    return status;
}

int unpack_file(struct unpack *unpack, int dir, const char *name)
{
    return unpack->options->rules || tar_dirs_inner(&unpack->dirs)->is_ours
               ? make_in_place(unpack, dir, name)
               : make_by_draft(unpack, dir, name);
}
