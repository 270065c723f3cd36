/* SPDX-License-Identifier: Apache-2.0 */
/* A layer lies on others which are not known here, so what it says about them is written down the
 * way overlayfs reads it. The order of the archive does not matter: what a whiteout and an entry of
 * one name mean together is the same whichever comes first. The whiteout hides what is below, the
 * entry is there; so a directory that has both is opaque.
 *
 * Nobody else has a way into the directory while it is filled. */
#include "image/layer_rules.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "util/remove_tree.h"

#define TOP_MODE 0755
#define FILLING_BITS 0700
#define MAX_NOTED_BYTES (16u << 20)

/* One more name, with what its file holds: so that nobody has to look through the tree for it. */
static void count(const struct unpack *unpack, uint64_t bytes)
{
    struct layer_work *work = unpack->options->context;
    work->sum.entries++;
    work->sum.bytes += bytes;
    work->is_miscounted = work->is_miscounted || unpack->dirs.depth > TREE_SUM_LEVELS;
}

/* ---- whiteouts ---- */

static bool begins_with(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

static int set_opaque(const struct unpack *unpack, int fd)
{
    return fsetxattr(fd, LAYER_OPAQUE_XATTR, "y", 1, 0) < 0 ? unpack_fail(unpack, TAR_TARGET, errno)
                                                            : 0;
}

static bool is_whiteout(int dir, const char *name)
{
    struct stat info;
    return fstatat(dir, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISCHR(info.st_mode) &&
           info.st_rdev == makedev(0, 0);
}

/* Anything of the name that is there was put there by this layer. */
static int make_whiteout(struct unpack *unpack, int dir, const char *name)
{
    if (mknodat(dir, name, S_IFCHR, makedev(0, 0)) == 0) {
        count(unpack, 0);
        return 0;
    }
    if (errno != EEXIST)
        return unpack_fail(unpack, TAR_TARGET, errno);
    int fd = openat(dir, name, TAR_OPEN_DIRECTORY);
    if (fd < 0)
        return errno == ENOTDIR || errno == ELOOP ? 0 : unpack_fail(unpack, TAR_TARGET, errno);
    int status = set_opaque(unpack, fd);
    (void)close(fd);
    return status;
}

/* The last component begins with ".wh.". */
static int take_whiteout(struct unpack *unpack)
{
    enum tar_type type = unpack->reader.entry.type;
    int dir = -1;
    const char *name = "";
    if (type != TAR_TYPE_FILE && type != TAR_TYPE_LINK)
        return unpack_fail(unpack, TAR_WHITEOUT, 0);
    if (unpack_enter_parent(unpack, &dir, &name) < 0)
        return -1;
    if (strcmp(name, LAYER_OPAQUE_FILE) == 0)
        return set_opaque(unpack, dir);
    const char *hidden = name + strlen(LAYER_WHITEOUT);
    if (*hidden == '\0' || strcmp(hidden, ".") == 0 || strcmp(hidden, "..") == 0)
        return unpack_fail(unpack, TAR_WHITEOUT, 0);
    return make_whiteout(unpack, dir, hidden);
}

enum whiteout { NO_WHITEOUT, WHITEOUT, BAD_WHITEOUT, META };

/* Names that begin with ".wh..wh." are notes that another storage kept for itself, but for the mark
 * of an opaque directory. */
static enum whiteout classify(const char *path)
{
    for (;;) {
        size_t length = strcspn(path, "/");
        bool is_last = path[length] == '\0';
        if (begins_with(path, LAYER_META) && !(is_last && strcmp(path, LAYER_OPAQUE_FILE) == 0))
            return META;
        if (begins_with(path, LAYER_WHITEOUT))
            return is_last ? WHITEOUT : BAD_WHITEOUT;
        if (is_last)
            return NO_WHITEOUT;
        path += length + 1;
    }
}

/* ---- entries ---- */

/* Archives of whole systems have the usual ones in /dev, where every sandbox has its own. */
static int take_device(struct unpack *unpack)
{
    return begins_with(tar_text_of(&unpack->name), "dev/") ? 1 : unpack_fail(unpack, TAR_DEVICE, 0);
}

static int admit(struct unpack *unpack)
{
    enum tar_type type = unpack->reader.entry.type;
    switch (classify(tar_text_of(&unpack->name))) {
    case META:
        return 1;
    case BAD_WHITEOUT:
        return unpack_fail(unpack, TAR_WHITEOUT, 0);
    case WHITEOUT:
        return take_whiteout(unpack) < 0 ? -1 : 1;
    case NO_WHITEOUT:
        break;
    }
    if (type == TAR_TYPE_FILE)
        count(unpack, unpack->reader.entry.file_size);
    else if (type == TAR_TYPE_SYMLINK || type == TAR_TYPE_FIFO)
        count(unpack, 0);
    return type == TAR_TYPE_CHARACTER || type == TAR_TYPE_BLOCK ? take_device(unpack) : 0;
}

static int note(struct unpack *unpack, struct hutch_strlist *list)
{
    struct layer_work *work = unpack->options->context;
    const struct tar_text *path = &unpack->dirs.path;
    work->noted_bytes += path->length + sizeof(char *);
    if (work->noted_bytes > MAX_NOTED_BYTES)
        return unpack_fail(unpack, TAR_TOO_MANY, 0);
    if (hutch_strlist_addn(list, tar_text_of(path), path->length, NULL) < 0)
        return unpack_fail(unpack, TAR_MEMORY, ENOMEM);
    return 0;
}

/* A directory is filled by its owner, whatever it will allow later. */
static int open_for_filling(int dir, const char *name, struct stat *ret_info)
{
    if (fstatat(dir, name, ret_info, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    if (S_ISDIR(ret_info->st_mode) && (ret_info->st_mode & FILLING_BITS) != FILLING_BITS &&
        fchmodat(dir, name, (ret_info->st_mode & 07777) | FILLING_BITS, 0) < 0)
        return -1;
    return openat(dir, name, TAR_OPEN_DIRECTORY);
}

static int open_closed(int dir, const char *name)
{
    struct stat info;
    return open_for_filling(dir, name, &info);
}

static void keep_former(struct tar_level *level, const struct stat *info)
{
    level->has_attributes = true;
    level->keeps_owner = true;
    level->attributes =
        (struct tar_attributes){info->st_mode & 07777, info->st_uid, info->st_gid, info->st_mtim};
}

/* A directory that is made on the way is the image's owner's, and has no time. */
static int step_into_new(struct unpack *unpack, int dir, const char *name, bool hides)
{
    struct layer_work *work = unpack->options->context;
    if (mkdirat(dir, name, FILLING_BITS) < 0)
        return unpack_fail(unpack, TAR_TARGET, errno);
    int fd = openat(dir, name, TAR_OPEN_DIRECTORY);
    if (fd < 0)
        return unpack_fail(unpack, TAR_TARGET, errno);
    if (unpack_push(unpack, fd, name) < 0)
        return -1;
    count(unpack, 0);
    struct tar_level *level = tar_dirs_inner(&unpack->dirs);
    level->has_attributes = true;
    level->attributes = (struct tar_attributes){.mode = TOP_MODE};
    if (hides)
        return set_opaque(unpack, fd);
    return note(unpack, &work->implied);
}

static int step(struct unpack *unpack, const char *name)
{
    int dir = tar_dirs_inner(&unpack->dirs)->fd;
    struct stat info;
    int fd = open_for_filling(dir, name, &info);
    if (fd < 0 && errno == ENOENT)
        return step_into_new(unpack, dir, name, false);
    if (fd < 0 && is_whiteout(dir, name) && unlinkat(dir, name, 0) == 0) {
        unpack->has_replaced = true;
        return step_into_new(unpack, dir, name, true);
    }
    if (fd < 0)
        return unpack_fail_step(unpack, dir, name, errno);
    if (unpack_push(unpack, fd, name) < 0)
        return -1;
    keep_former(tar_dirs_inner(&unpack->dirs), &info);
    return 0;
}

static int take_directory(struct unpack *unpack, enum unpack_found found)
{
    struct layer_work *work = unpack->options->context;
    int fd = tar_dirs_inner(&unpack->dirs)->fd;
    if (found == UNPACK_MADE)
        count(unpack, 0);
    if (found == UNPACK_FOUND && fchmod(fd, FILLING_BITS) < 0)
        return unpack_fail(unpack, TAR_TARGET, errno);
    if (found == UNPACK_FOUND && note(unpack, &work->mentioned) < 0)
        return -1;
    if (found == UNPACK_REPLACED && set_opaque(unpack, fd) < 0)
        return -1;
    return layer_set_xattrs(unpack, fd);
}

/* The layer's own directory: the root of what is mounted when it is the topmost. */
static int take_top(struct unpack *unpack)
{
    struct tar_level *top = &unpack->dirs.levels[0];
    if (unpack_leave(unpack, 1) < 0)
        return -1;
    top->has_attributes = true;
    top->attributes = unpack->reader.entry.attributes;
    return layer_set_xattrs(unpack, top->fd);
}

static int check_link_source(struct unpack *unpack, int dir, const char *name)
{
    struct stat info;
    if (fstatat(dir, name, &info, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? unpack_fail(unpack, TAR_LINK_SOURCE, 0)
                               : unpack_fail(unpack, TAR_TARGET, errno);
    if (!S_ISREG(info.st_mode) && !S_ISLNK(info.st_mode) && !S_ISFIFO(info.st_mode))
        return unpack_fail(unpack, TAR_LINK_SOURCE, 0);
    count(unpack, S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0);
    return 0;
}

static int end(struct unpack *unpack)
{
    struct layer_work *work = unpack->options->context;
    struct tar_level *top = &unpack->dirs.levels[0];
    work->is_miscounted = work->is_miscounted || unpack->has_replaced;
    if (!top->has_attributes)
        top->attributes = (struct tar_attributes){.mode = TOP_MODE};
    return unpack_apply(unpack, top->fd, &top->attributes) < 0 ? unpack_fail_apply(unpack, errno)
                                                               : 0;
}

const struct tar_rules layer_rules = {
    .admit = admit,
    .top = take_top,
    .step = step,
    .open_closed = open_closed,
    .directory = take_directory,
    .file = layer_set_xattrs,
    .link_source = check_link_source,
    .remove_directory = remove_tree,
    .end = end,
};
