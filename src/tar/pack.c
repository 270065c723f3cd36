/* SPDX-License-Identifier: Apache-2.0 */
/* Packing: one loop over the names of the innermost directory. A directory's header is sent when it
 * is entered, so it stands before everything inside it.
 *
 * What a name is may change at any moment. It is looked at first, so that nothing but files and
 * directories is ever opened in earnest; then it is opened without following, without waiting and
 * without becoming a terminal of ours, and what counts is what the descriptor says. */
#include "tar/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#define OPEN_FILE (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

int pack_fail(const struct pack *pack, enum tar_what what, int os_errno)
{
    return tar_fail(pack->failure, what, os_errno, tar_text_of(&pack->dirs.path));
}

static int send_head(struct pack *pack, const struct tar_head *head)
{
    if (tar_head_write(&pack->out, head, &pack->records) < 0)
        return pack_fail(pack, errno == ENOMEM ? TAR_MEMORY : TAR_STREAM, errno);
    return 0;
}

int pack_head(struct pack *pack, struct tar_head *head, const struct stat *info)
{
    const struct tar_pack_options *options = pack->options;
    head->name = pack->dirs.path.data;
    head->attributes =
        (struct tar_attributes){info->st_mode & (options->drop_special ? 0777 : 07777),
                                info->st_uid, info->st_gid, info->st_mtim};
    if (options->share_modes)
        head->attributes.mode |=
            (head->attributes.mode & 0500) >> 3 | (head->attributes.mode & 0500) >> 6;
    if (options->map_owner)
        options->map_owner(options->context, &head->attributes.uid, &head->attributes.gid);
    head->xattrs = &pack->xattrs;
    int status = send_head(pack, head);
    tar_text_cut(&pack->xattrs, 0);
    return status;
}

int pack_mark(struct pack *pack, const char *prefix, const char *name)
{
    struct tar_head head = {.type = TAR_TYPE_FILE};
    int status = tar_dirs_name(&pack->dirs, prefix, strlen(prefix));
    if (status == 0)
        status = tar_text_append(&pack->dirs.path, name, strlen(name));
    if (status < 0)
        return pack_fail(pack, TAR_MEMORY, errno);
    head.name = pack->dirs.path.data;
    status = send_head(pack, &head);
    tar_text_cut(&pack->dirs.path, tar_dirs_inner(&pack->dirs)->name_end);
    return status;
}

static int gather_xattrs(struct pack *pack, int fd)
{
    const struct tar_pack_rules *rules = pack->options->rules;
    if (!rules || rules->xattrs(fd, &pack->xattrs) == 0)
        return 0;
    return pack_fail(pack, errno == ENOMEM ? TAR_MEMORY : TAR_SOURCE, errno);
}

static int skip(const struct pack *pack, mode_t mode, int os_errno)
{
    const struct tar_pack_options *options = pack->options;
    if (os_errno == ENOENT && pack->dirs.depth)
        return 0; /* it is gone, as if it had never been there */
    if (pack->dirs.depth == 0 || (os_errno && !options->skipped))
        return pack_fail(pack, os_errno ? TAR_SOURCE : TAR_KIND, os_errno);
    if (options->skipped)
        options->skipped(options->context, pack->dirs.path.data, mode & S_IFMT, os_errno);
    return 0;
}

/* Only where a mount begins, or the walk does: below it is the same one. */
static bool is_left_out(const struct pack *pack, int fd, const struct stat *info)
{
    struct statfs filesystem;
    if (!pack->options->without_kernel ||
        (pack->dirs.depth && tar_dirs_inner(&pack->dirs)->dev == info->st_dev))
        return false;
    return fstatfs(fd, &filesystem) == 0 &&
           (filesystem.f_type == PROC_SUPER_MAGIC || filesystem.f_type == SYSFS_MAGIC);
}

/* Sends a link instead when the stream has the inode already. Returns 1 then, 0 if not. */
static int pack_as_link(struct pack *pack, const struct stat *info)
{
    if (info->st_nlink < 2)
        return 0;
    struct tar_head head = {.type = TAR_TYPE_LINK};
    head.link = tar_links_find_or_add(&pack->links, info, &pack->dirs.path);
    if (!head.link)
        return 0;
    return pack_head(pack, &head, info) < 0 ? -1 : 1;
}

static int pack_regular(struct pack *pack, int dir, const char *name)
{
    struct stat info;
    int fd = openat(dir, name, OPEN_FILE);
    if (fd < 0)
        return skip(pack, S_IFREG, errno);
    int status = fstat(fd, &info);
    if (status < 0)
        status = pack_fail(pack, TAR_SOURCE, errno);
    else if (!S_ISREG(info.st_mode))
        status = skip(pack, info.st_mode, EAGAIN);
    else if (is_left_out(pack, fd, &info))
        status = skip(pack, info.st_mode, EOPNOTSUPP);
    else if ((status = pack_as_link(pack, &info)) == 0 && (status = gather_xattrs(pack, fd)) == 0)
        status = pack_file(pack, fd, &info);
    (void)close(fd);
    return status < 0 ? -1 : 0;
}

static int enter_directory(struct pack *pack, int fd, const struct stat *info)
{
    const struct tar_pack_options *options = pack->options;
    struct tar_head head = {.type = TAR_TYPE_DIRECTORY};
    size_t length = pack->dirs.path.length;
    int status = 0;
    if (pack->dirs.depth == 0)
        pack->device = info->st_dev;
    if (pack->dirs.depth == (options->max_depth ? options->max_depth : TAR_DEFAULT_DEPTH))
        status = pack_fail(pack, TAR_TOO_DEEP, 0);
    else if (tar_text_append(&pack->dirs.path, "/", 1) < 0)
        status = pack_fail(pack, TAR_MEMORY, errno);
    else if ((status = gather_xattrs(pack, fd)) == 0)
        status = pack_head(pack, &head, info);
    tar_text_cut(&pack->dirs.path, length);
    if (status < 0)
        (void)close(fd);
    else if (tar_dirs_push(&pack->dirs, fd, info) < 0)
        status = pack_fail(pack, TAR_MEMORY, errno);
    else if (options->rules)
        status = options->rules->entered(pack, fd);
    return status;
}

static int pack_directory(struct pack *pack, int dir, const char *name)
{
    struct stat info;
    int fd = openat(dir, name, TAR_OPEN_DIRECTORY);
    if (fd < 0)
        return skip(pack, S_IFDIR, errno);
    if (fstat(fd, &info) < 0) {
        int saved = errno;
        (void)close(fd);
        return pack_fail(pack, TAR_SOURCE, saved);
    }
    if (pack->options->one_filesystem && pack->dirs.depth && info.st_dev != pack->device) {
        (void)close(fd);
        return skip(pack, S_IFDIR, 0);
    }
    if (is_left_out(pack, fd, &info)) {
        (void)close(fd);
        return skip(pack, S_IFDIR, EOPNOTSUPP);
    }
    return enter_directory(pack, fd, &info);
}

static int pack_symlink(struct pack *pack, int dir, const char *name, const struct stat *info)
{
    char target[PATH_MAX];
    struct tar_head head = {.type = TAR_TYPE_SYMLINK, .link = target};
    ssize_t length = readlinkat(dir, name, target, sizeof(target) - 1);
    if (length <= 0)
        return skip(pack, S_IFLNK, length < 0 ? errno : EINVAL);
    target[length] = '\0';
    int linked = pack_as_link(pack, info);
    if (linked)
        return linked < 0 ? -1 : 0;
    return pack_head(pack, &head, info);
}

static int pack_fifo(struct pack *pack, const struct stat *info)
{
    struct tar_head head = {.type = TAR_TYPE_FIFO};
    int linked = pack_as_link(pack, info);
    if (linked)
        return linked < 0 ? -1 : 0;
    return pack_head(pack, &head, info);
}

static int pack_entry(struct pack *pack, int dir, const char *name)
{
    const struct tar_pack_rules *rules = pack->options->rules;
    struct stat info;
    if (fstatat(dir, name, &info, AT_SYMLINK_NOFOLLOW) < 0)
        return skip(pack, 0, errno);
    int settled = rules && pack->dirs.depth ? rules->admit(pack, name, &info) : 0;
    if (settled)
        return settled < 0 ? -1 : 0;
    switch (info.st_mode & S_IFMT) {
    case S_IFREG:
        return pack_regular(pack, dir, name);
    case S_IFDIR:
        return pack_directory(pack, dir, name);
    case S_IFLNK:
        return pack_symlink(pack, dir, name, &info);
    case S_IFIFO:
        return pack_fifo(pack, &info);
    default:
        return skip(pack, info.st_mode, 0);
    }
}

static int leave_directory(struct pack *pack)
{
    if (tar_dirs_wake_parent(&pack->dirs) < 0)
        return pack_fail(pack, errno == ESTALE ? TAR_CHANGED : TAR_SOURCE, errno);
    tar_dirs_pop(&pack->dirs);
    return 0;
}

/* A directory that cannot be listed to its end: what was found until then stays. */
static int skip_rest(struct pack *pack, int os_errno)
{
    tar_text_cut(&pack->dirs.path, tar_dirs_inner(&pack->dirs)->name_end);
    return os_errno == ENOMEM ? pack_fail(pack, TAR_MEMORY, os_errno)
                              : skip(pack, S_IFDIR, os_errno);
}

static int pack_tree(struct pack *pack)
{
    const struct tar_pack_rules *rules = pack->options->rules;
    while (pack->dirs.depth) {
        const char *name;
        struct tar_level *level = tar_dirs_inner(&pack->dirs);
        int more = rules ? rules->next(level, &name) : pack_list_next(level, &name);
        if (more <= 0) {
            if ((more < 0 && skip_rest(pack, errno) < 0) || leave_directory(pack) < 0)
                return -1;
            continue;
        }
        if (tar_dirs_name(&pack->dirs, name, strlen(name)) < 0)
            return pack_fail(pack, TAR_MEMORY, errno);
        if (pack_entry(pack, level->fd, name) < 0)
            return -1;
    }
    return 0;
}

/* Opens what lies before the last component, one component after the other. */
static int open_parent(const char **path, int dir)
{
    char name[NAME_MAX + 1];
    const char *rest = *path, *slash;
    int at = openat(dir, *rest == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    while (at >= 0 && (slash = strchr(rest += strspn(rest, "/"), '/')) &&
           slash[strspn(slash, "/")]) {
        size_t length = (size_t)(slash - rest);
        int next = -1;
        errno = ENAMETOOLONG;
        if (length < sizeof(name)) {
            memcpy(name, rest, length);
            name[length] = '\0';
            next = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        }
        int saved = errno;
        (void)close(at);
        errno = saved;
        at = next;
        rest = slash;
    }
    *path = rest;
    return at;
}

static int pack_top(struct pack *pack)
{
    const struct tar_pack_options *options = pack->options;
    const char *rest = options->path;
    char name[NAME_MAX + 2];
    (void)tar_text_set(&pack->dirs.path, rest, strlen(rest)); /* for the message */
    int parent = open_parent(&rest, options->dir);
    size_t length = strcspn(rest, "/");
    if (parent < 0)
        return pack_fail(pack, TAR_SOURCE, errno);
    length = TAR_MIN(length, sizeof(name) - 1); /* the kernel has the word on what is too long */
    memcpy(name, rest, length);
    name[length] = '\0';
    const char *local = length ? name : ".";
    const char *shown = options->name ? options->name : local;
    int status = tar_text_set(&pack->dirs.path, shown, strlen(shown));
    if (status < 0)
        status = pack_fail(pack, TAR_MEMORY, errno);
    else
        status = pack_entry(pack, parent, local);
    (void)close(parent);
    return status;
}

static int finish(struct pack *pack)
{
    if (tar_out_zeros(&pack->out, TAR_BLOCK + TAR_BLOCK) < 0 || tar_out_flush(&pack->out) < 0)
        return pack_fail(pack, TAR_STREAM, errno);
    return 0;
}

int tar_pack(const struct tar_pack_options *options, int out_fd, struct tar_failure *failure)
{
    struct pack pack = {.options = options, .failure = failure};
    int status = tar_out_init(&pack.out, out_fd, options->write, options->context);
    if (status < 0)
        status = pack_fail(&pack, TAR_MEMORY, errno);
    else if ((status = pack_top(&pack)) == 0 && (status = pack_tree(&pack)) == 0)
        status = finish(&pack);
    tar_out_done(&pack.out);
    tar_dirs_done(&pack.dirs);
    tar_links_done(&pack.links);
    tar_text_done(&pack.records);
    tar_text_done(&pack.xattrs);
    return status;
}
