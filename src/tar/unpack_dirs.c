/* SPDX-License-Identifier: Apache-2.0 */
/* Walking beneath the target. Archives list a directory's entries together, so the walk mostly
 * stays where it is. A directory's own mode may forbid writing to it, and every entry changes its
 * time: both are set when the walk leaves, as GNU tar does it. */
#include "tar/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define FILLING_MODE 0700
#define IMPLIED_MODE 0755

/* Only what is not so already: a look is cheap, and a change is a transaction on the disk. */
int unpack_apply(const struct unpack *unpack, int fd, const struct tar_attributes *attributes)
{
    const struct tar_unpack_options *options = unpack->options;
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, attributes->mtime};
    mode_t mode = attributes->mode & (options->keep_special ? 07777 : 0777);
    uid_t uid = attributes->uid;
    gid_t gid = attributes->gid;
    struct stat info;
    if (fstat(fd, &info) < 0)
        return -1;
    bool needs_mode = (info.st_mode & 07777) != mode;
    if (options->map_owner) {
        if (!unpack_is_owner(uid, gid)) {
            errno = EINVAL;
            return -1;
        }
        bool needs_owner = info.st_uid != uid || info.st_gid != gid;
        /* takes set-id bits away; who has no number in this place cannot own anything there */
        if (needs_owner && fchown(fd, uid, gid) < 0 && errno != EOVERFLOW)
            return -1;
        needs_mode = needs_mode || (needs_owner && (mode & (S_ISUID | S_ISGID)));
    }
    if (needs_mode && fchmod(fd, mode) < 0)
        return -1;
    return futimens(fd, times);
}

void unpack_as(struct unpack *unpack, uid_t uid, gid_t gid)
{
    if (!unpack->options->become || unpack->has_become ||
        (uid == unpack->uid && gid == unpack->gid))
        return;
    unpack->uid = uid;
    unpack->gid = gid;
    unpack->options->become(unpack->options->context, uid, gid);
}

bool unpack_become_owner(struct unpack *unpack, int dir)
{
    struct stat info;
    if (errno != EOVERFLOW || !unpack->options->become || unpack->has_become)
        return false;
    if (unpack->uid != geteuid() || unpack->gid != getegid()) {
        unpack_as(unpack, geteuid(), getegid());
        return true;
    }
    if (fstat(dir, &info) < 0)
        return false;
    unpack_as(unpack, info.st_uid, info.st_gid);
    unpack->has_become = true;
    return true;
}

int unpack_fail_apply(const struct unpack *unpack, int os_errno)
{
    bool is_owner = unpack->options->map_owner && os_errno == EINVAL;
    return unpack_fail(unpack, is_owner ? TAR_OWNER : TAR_TARGET, is_owner ? 0 : os_errno);
}

/* What it had before something was changed in it. */
static int restore(int fd, const struct tar_attributes *attributes)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, attributes->mtime};
    return fchmod(fd, attributes->mode) < 0 ? -1 : futimens(fd, times);
}

static int leave_one(struct unpack *unpack)
{
    const struct tar_level *level = tar_dirs_inner(&unpack->dirs);
    /* before the mode is set, which may close the way up */
    if (tar_dirs_wake_parent(&unpack->dirs) < 0)
        return unpack_fail(unpack, errno == ESTALE ? TAR_CHANGED : TAR_TARGET, errno);
    int status = !level->has_attributes ? 0
                 : level->keeps_owner   ? restore(level->fd, &level->attributes)
                                        : unpack_apply(unpack, level->fd, &level->attributes);
    if (status < 0)
        return unpack_fail_apply(unpack, errno);
    tar_dirs_pop(&unpack->dirs);
    return 0;
}

int unpack_leave(struct unpack *unpack, size_t depth)
{
    while (unpack->dirs.depth > depth)
        if (leave_one(unpack) < 0)
            return -1;
    return 0;
}

/* How many levels are on the way to a directory of this name. */
static size_t count_common(const struct tar_dirs *dirs, const char *name, size_t length)
{
    size_t depth = 1, done = 0;
    for (; depth < dirs->depth; depth++) {
        size_t end = dirs->levels[depth].name_end;
        if (end > length || memcmp(dirs->path.data + done, name + done, end - done) != 0 ||
            (end < length && name[end] != '/'))
            break;
        done = end;
    }
    return depth;
}

int unpack_fail_step(const struct unpack *unpack, int dir, const char *name, int os_errno)
{
    struct stat info;
    bool is_link = fstatat(dir, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(info.st_mode);
    return unpack_fail(unpack, is_link ? TAR_THROUGH_LINK : TAR_TARGET, is_link ? 0 : os_errno);
}

/* One that may be searched but not read is good enough to pass through. */
static int open_step(int dir, const char *name)
{
    int fd = openat(dir, name, TAR_OPEN_DIRECTORY);
    if (fd < 0 && errno == EACCES)
        fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd;
}

int unpack_push(struct unpack *unpack, int fd, const char *name)
{
    struct stat info;
    if (fstat(fd, &info) < 0 || tar_dirs_name(&unpack->dirs, name, strlen(name)) < 0) {
        int saved = errno;
        (void)close(fd);
        return unpack_fail(unpack, TAR_TARGET, saved);
    }
    return tar_dirs_push(&unpack->dirs, fd, &info) < 0 ? unpack_fail(unpack, TAR_MEMORY, errno) : 0;
}

/* Ours until the walk leaves it. */
static int new_directory(struct unpack *unpack, int dir, const char *name, mode_t mode)
{
    unpack_as(unpack, geteuid(), getegid());
    int status;
    do
        status = mkdirat(dir, name, mode);
    while (status < 0 && unpack_become_owner(unpack, dir));
    return status;
}

/* A directory on the way, which the archive need not have listed. */
static int step_into(struct unpack *unpack, const char *name)
{
    int dir = tar_dirs_inner(&unpack->dirs)->fd;
    int fd = open_step(dir, name);
    if (fd < 0 && errno == ENOENT &&
        (new_directory(unpack, dir, name, IMPLIED_MODE) == 0 || errno == EEXIST))
        fd = open_step(dir, name);
    return fd < 0 ? unpack_fail_step(unpack, dir, name, errno) : unpack_push(unpack, fd, name);
}

/* Copies the first component; returns what comes after it, NULL when it is too long. */
static const char *split(const char *path, char component[NAME_MAX + 1])
{
    size_t length = strcspn(path, "/");
    if (length > NAME_MAX)
        return NULL;
    memcpy(component, path, length);
    component[length] = '\0';
    return path[length] ? path + length + 1 : path + length;
}

int unpack_enter_parent(struct unpack *unpack, int *ret_dir, const char **ret_name)
{
    const char *path = unpack->name.data;
    const char *slash = strrchr(path, '/');
    const char *last = slash ? slash + 1 : path;
    size_t length = slash ? (size_t)(slash - path) : 0;
    char component[NAME_MAX + 1];
    const struct tar_rules *rules = unpack->options->rules;
    if (unpack_leave(unpack, count_common(&unpack->dirs, path, length)) < 0)
        return -1;
    size_t done = tar_dirs_inner(&unpack->dirs)->name_end;
    const char *rest = done == length ? last : path + done + (done != 0);
    while (rest < last) {
        rest = split(rest, component);
        if (!rest)
            return unpack_fail(unpack, TAR_TARGET, ENAMETOOLONG);
        if ((rules ? rules->step(unpack, component) : step_into(unpack, component)) < 0)
            return -1;
    }
    *ret_dir = tar_dirs_inner(&unpack->dirs)->fd;
    *ret_name = last;
    return 0;
}

/* What stands in the directory's place is replaced when it is none itself. */
static int make_directory(struct unpack *unpack, int dir, const char *name, bool replaces,
                          enum unpack_found *ret_found)
{
    for (unsigned i = 0; i < 3; i++) {
        *ret_found = UNPACK_FOUND;
        if (new_directory(unpack, dir, name, FILLING_MODE) == 0)
            *ret_found = i ? UNPACK_REPLACED : UNPACK_MADE;
        else if (errno != EEXIST)
            return -1;
        int fd = openat(dir, name, TAR_OPEN_DIRECTORY);
        if (fd < 0 && errno == EACCES && unpack->options->rules)
            fd = unpack->options->rules->open_closed(dir, name);
        if (fd >= 0 || !replaces || (errno != ENOTDIR && errno != ELOOP))
            return fd;
        unpack->has_replaced = true;
        if (unlinkat(dir, name, 0) < 0 && errno != ENOENT)
            return -1;
    }
    errno = EAGAIN; /* somebody else keeps putting things there */
    return -1;
}

/* One that we have just made, and not what somebody has put in its place. */
static bool is_closed(int fd)
{
    struct stat info;
    return fstat(fd, &info) == 0 && info.st_uid == geteuid() &&
           (info.st_mode & 07777) == FILLING_MODE;
}

int unpack_directory(struct unpack *unpack)
{
    int dir = -1;
    const char *name = "";
    if (unpack_enter_parent(unpack, &dir, &name) < 0)
        return -1;
    bool is_top = unpack->options->rename_first && !strchr(unpack->name.data, '/');
    enum unpack_found found;
    int fd = make_directory(unpack, dir, name, !is_top, &found);
    if (fd < 0)
        return unpack_fail(unpack, TAR_TARGET, errno);
    if (unpack_push(unpack, fd, name) < 0)
        return -1;
    struct tar_level *level = tar_dirs_inner(&unpack->dirs);
    level->has_attributes = true;
    level->attributes = unpack->reader.entry.attributes;
    level->is_ours = found != UNPACK_FOUND && is_closed(fd);
    return unpack->options->rules ? unpack->options->rules->directory(unpack, found) : 0;
}

static int fail_find(const struct unpack *unpack, int dir, const char *name, int os_errno)
{
    if (unpack->options->rules && os_errno == ENOENT)
        return unpack_fail(unpack, TAR_LINK_SOURCE, 0);
    return unpack_fail_step(unpack, dir, name, os_errno);
}

int unpack_find_parent(const struct unpack *unpack, const char *path, int *ret_dir,
                       const char **ret_name)
{
    char component[NAME_MAX + 1];
    const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
    int at = openat(unpack->options->dir, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (at < 0)
        return unpack_fail(unpack, TAR_TARGET, errno);
    while (path < last) {
        path = split(path, component);
        if (!path)
            errno = ENAMETOOLONG;
        int next = path ? openat(at, component, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
        int status = next < 0 ? fail_find(unpack, at, component, errno) : 0;
        (void)close(at);
        if (status < 0)
            return -1;
        at = next;
    }
    *ret_dir = at;
    *ret_name = last;
    return 0;
}
