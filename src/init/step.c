/* SPDX-License-Identifier: Apache-2.0 */
/* The plan's steps, one small function each. Every name is resolved beneath the new root by
 * descriptor: a symlink planted in an image or a workspace never leads out. */
#include "init/init.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "init/sys.h"

struct step_context {
    struct sandbox *box;
    const struct init_plan *plan;
    const struct init_step *step;
    const char *path;
    const char *text;
};

int target_open(const struct sandbox *box, const char *path, int flags, bool strict)
{
    unsigned long long resolve = RESOLVE_NO_MAGICLINKS;
    resolve |= strict ? RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS : RESOLVE_IN_ROOT;
    return sys_openat2(box->root, path, flags, resolve);
}

static void parent_forget(struct sandbox *box)
{
    if (box->parent.fd >= 0)
        close(box->parent.fd);
    box->parent.fd = -1;
}

/* Opens a directory of the new root, making what is missing on the way. */
static int directory_open(struct sandbox *box, const char *path)
{
    char above[4096];
    int fd = target_open(box, path, O_PATH | O_DIRECTORY, true);
    if (fd >= 0 || errno != ENOENT)
        return fd;
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 0;
    memcpy(above, path, length);
    above[length] = '\0';
    int parent = slash ? directory_open(box, above) : box->root;
    if (parent < 0)
        return -1;
    const char *name = slash ? slash + 1 : path;
    if (mkdirat(parent, name, 0755) == 0 || errno == EEXIST)
        fd = sys_openat2(parent, name, O_PATH | O_DIRECTORY, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
    if (parent != box->root)
        close(parent);
    return fd;
}

/* The directory that holds path's last name, which is *ret_name. Borrowed: neighbouring steps
 * mostly want the same one. */
static int parent_open(const struct step_context *context, const char **ret_name)
{
    struct sandbox *box = context->box;
    struct parent *parent = &box->parent;
    const char *slash = strrchr(context->path, '/');
    *ret_name = slash ? slash + 1 : context->path;
    if (!slash)
        return box->root;
    size_t length = (size_t)(slash - context->path);
    if (parent->fd >= 0 && strlen(parent->path) == length &&
        !memcmp(parent->path, context->path, length))
        return parent->fd;
    if (length >= sizeof(parent->path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    parent_forget(box);
    memcpy(parent->path, context->path, length);
    parent->path[length] = '\0';
    parent->fd = directory_open(box, parent->path);
    return parent->fd;
}

/* A directory, a file or a symlink. */
static int step_entry(const struct step_context *context)
{
    const struct init_step *step = context->step;
    if (step->flags & INIT_STEP_INSIDE)
        return directory_make_inside(context->box, step, context->path);
    const char *name;
    int parent = parent_open(context, &name);
    return parent < 0 ? -1 : entry_make(parent, name, step, context->text);
}

static int open_mountpoint(int parent, const char *name)
{
    return sys_openat2(parent, name, O_PATH, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
}

/* Mounts onto path, which is made, as a directory or an empty file, when it is missing. A symlink
 * there is not followed. A directory is mostly there, a file mostly is not. */
static int mount_on(const struct step_context *context, int mount, bool directory)
{
    const char *name;
    int parent = parent_open(context, &name);
    if (parent < 0)
        return -1;
    int target = directory ? open_mountpoint(parent, name) : -1;
    if (target < 0 && (!directory || errno == ENOENT)) {
        if ((directory ? mkdirat(parent, name, 0755) : mknodat(parent, name, S_IFREG | 0644, 0)) ==
            0)
            return sys_move_mount(mount, parent, name);
        if (errno == EEXIST)
            target = open_mountpoint(parent, name);
    }
    if (target < 0)
        return -1;
    int status = sys_move_mount(mount, target, "");
    close(target);
    if (directory)
        parent_forget(context->box); /* it may lie below what has just been covered */
    return status;
}

static bool is_directory(const struct step_context *context, int fd)
{
    const struct init_tree *trees = blob_at(context->plan, context->plan->trees);
    struct stat info;
    uint32_t kind = trees[context->step->tree].kind;
    if (kind != INIT_TREE_UNKNOWN)
        return kind == INIT_TREE_DIRECTORY;
    return fstat(fd, &info) == 0 && S_ISDIR(info.st_mode);
}

static int step_attach(const struct step_context *context)
{
    int mount = context->box->trees[context->step->tree];
    if (mount < 0) {
        errno = ENOENT;
        return -1;
    }
    return mount_on(context, mount, is_directory(context, mount));
}

static int make_filesystem(const struct step_context *context, const char *type, uint32_t attrs)
{
    int fs = sys_fsopen(type);
    if (fs < 0)
        return -1;
    const char *option = context->text;
    while (option && *option) {
        const char *value = option + strlen(option) + 1;
        if (sys_fsconfig_set(fs, option, value) < 0)
            return -1;
        option = value + strlen(value) + 1;
    }
    int mount = sys_fsmount(fs, attrs);
    close(fs);
    return mount;
}

static int mount_filesystem(const struct step_context *context, const char *type, uint32_t attrs)
{
    int mount = make_filesystem(context, type, attrs);
    if (mount < 0)
        return -1;
    int status = mount_on(context, mount, true);
    close(mount);
    return status;
}

/* What the kernel counts for the user who made this namespace, together with everything else that
 * user runs: one sandbox must not use it all up. No further namespace is a second lock. */
static int limit_shares(int proc)
{
    static const struct {
        const char *file;
        const char *value;
    } shares[] = {{"max_inotify_instances", "32"},
                  {"max_inotify_watches", "16384"},
                  {"max_user_namespaces", "0"}};
    int user = openat(proc, "sys/user", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (user < 0)
        return errno == ENOENT ? 0 : -1; /* a kernel without any */
    for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
        int fd = openat(user, shares[i].file, O_WRONLY | O_CLOEXEC);
        if (fd < 0 && errno == ENOENT)
            continue;
        size_t length = strlen(shares[i].value);
        if (fd < 0 || write(fd, shares[i].value, length) != (ssize_t)length)
            return -1;
        close(fd);
    }
    close(user);
    return 0;
}

/* Read-only as a whole: no kernel knob can be turned, whoever asks and whatever an owner check
 * says. What a process may change about itself there (oom_score_adj, the name of another thread) is
 * the price. */
static int step_proc(const struct step_context *context)
{
    uint32_t attrs = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
    int mount = make_filesystem(context, "proc", attrs);
    if (mount < 0 || limit_shares(mount) < 0 || tree_restrict(mount, MOUNT_ATTR_RDONLY) < 0)
        return -1;
    int status = mount_on(context, mount, true);
    close(mount);
    return status;
}

static int step_devpts(const struct step_context *context)
{
    return mount_filesystem(context, "devpts", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
}

static int step_tmpfs(const struct step_context *context)
{
    return mount_filesystem(context, "tmpfs", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}

static int step_lend(const struct step_context *context)
{
    int writable = context->box->writable;
    if (layer_mkdir(writable, context->text) < 0)
        return -1;
    int mount = sys_open_tree(writable, context->text, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    if (mount < 0)
        return -1;
    int status = mount_on(context, mount, true);
    close(mount);
    return status;
}

/* Covers path with a clone of source; a path that is not there needs no cover. To make a clone and
 * not to use it would be the dearest of all: the kernel waits for every processor at its end. */
static int cover(const struct step_context *context, int at, const char *source, uint32_t attrs)
{
    const char *name;
    struct stat info;
    int parent = parent_open(context, &name);
    if (parent < 0)
        return -1;
    if (fstatat(parent, name, &info, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
        return 0;
    int clone = sys_open_tree(at, source, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    if (clone < 0)
        return -1;
    int status = attrs ? tree_restrict(clone, attrs) : 0;
    if (status == 0)
        status = sys_move_mount(clone, parent, name);
    close(clone);
    return status;
}

static int step_mask_file(const struct step_context *context)
{
    return cover(context, context->box->root, "dev/null", 0);
}

/* An empty directory: of the writable layer where that is hidden, /sys otherwise. */
static int step_mask_directory(const struct step_context *context)
{
    const struct sandbox *box = context->box;
    bool hidden = box->root != box->writable;
    return cover(context, hidden ? box->writable : box->root, hidden ? "empty" : "sys",
                 MOUNT_ATTR_RDONLY);
}

/* Layer directories live in the writable layer, which the plan keeps out of the sandbox's sight
 * when it needs them. */
static int step_overlay(const struct step_context *context)
{
    const struct init_step *step = context->step;
    const char *lower = context->text;
    const char *upper = lower + strlen(lower) + 1;
    const char *work = upper + strlen(upper) + 1;
    int writable = context->box->writable;
    int tree = context->box->trees[step->tree];
    struct stat info;
    if (fstat(tree, &info) < 0 || layer_mkdir(writable, lower) < 0 ||
        layer_mkdir(writable, work) < 0)
        return -1;
    int is_old = layer_mkdir(writable, upper);
    if (is_old < 0 ||
        (!is_old && (fchmodat(writable, upper, info.st_mode & 0777, 0) < 0 ||
                     fchownat(writable, upper, step->uid, step->gid, AT_SYMLINK_NOFOLLOW) < 0)))
        return -1;
    if (sys_move_mount(tree, writable, lower) < 0)
        return -1;
    int mount = overlay_mount(writable, lower, upper, work, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    if (mount < 0)
        return -1;
    int status = mount_on(context, mount, true);
    close(mount);
    return status;
}

static int step_copy(const struct step_context *context)
{
    int target = target_open(context->box, context->path, O_RDONLY | O_DIRECTORY, true);
    if (target < 0)
        return -1;
    int status = copy_tree(context->box->trees[context->step->tree], target, context->step->uid,
                           context->step->gid);
    close(target);
    return status;
}

/* Below a read-only root a directory is writable by a mount of its own, of the same files: what is
 * written there counts and stays as ever. */
static int step_keep(const struct step_context *context)
{
    struct sandbox *box = context->box;
    int target = target_open(box, context->path, O_PATH | O_DIRECTORY, true);
    if (target < 0)
        return -1;
    int mount = sys_open_tree(target, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | SYS_AT_EMPTY_PATH);
    int status = mount < 0 ? -1 : sys_move_mount(mount, target, "");
    if (mount >= 0)
        close(mount);
    close(target);
    parent_forget(box); /* it may lie below what has just been covered */
    return status;
}

static int step_secret(const struct step_context *context)
{
    int source = context->box->trees[context->step->tree];
    int mount;
    if (secret_make(context->box, context->step, context->path, source, &mount) < 0)
        return -1;
    if (mount < 0)
        return 0;
    int status = mount_on(context, mount, false);
    close(mount);
    return status < 0 ? -1 : secret_forget_name(context->box);
}

static int step_trust(const struct step_context *context)
{
    int source = context->box->trees[context->step->tree];
    parent_forget(context->box);
    return trust_add(context->box, source);
}

int step_apply(struct sandbox *box, const struct init_plan *plan, const struct init_step *step)
{
    static int (*const table[])(const struct step_context *) = {
        [INIT_OP_MKDIR] = step_entry,         [INIT_OP_FILE] = step_entry,
        [INIT_OP_SYMLINK] = step_entry,       [INIT_OP_ATTACH] = step_attach,
        [INIT_OP_PROC] = step_proc,           [INIT_OP_DEVPTS] = step_devpts,
        [INIT_OP_TMPFS] = step_tmpfs,         [INIT_OP_LEND] = step_lend,
        [INIT_OP_MASK_FILE] = step_mask_file, [INIT_OP_MASK_DIRECTORY] = step_mask_directory,
        [INIT_OP_OVERLAY] = step_overlay,     [INIT_OP_COPY] = step_copy,
        [INIT_OP_SECRET] = step_secret,       [INIT_OP_TRUST] = step_trust,
        [INIT_OP_KEEP] = step_keep,
    };
    if (step->op >= sizeof(table) / sizeof(table[0]) || !table[step->op]) {
        errno = ENOSYS;
        return -1;
    }
    struct step_context context = {box, plan, step, blob_at(plan, step->path),
                                   blob_at(plan, step->text)};
    return table[step->op](&context);
}
