/* SPDX-License-Identifier: Apache-2.0 */
/* What src/init/entry.c does from within; PID 1 is another program, with a C library of its own. */
#include "backend/native/furnish.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/native/keeper.h"
#include "backend/native/plan.h"
#include "backend/native/pool.h"
#include "core/isolation.h"
#include "util/fs.h"
#include "util/own.h"

#define PARENT_MODE 0755
#define PATH_BYTES 256

/* What PID 1 makes belongs to the group 0 as well as to the user. */
bool furnish_is_wanted(const struct hutch_spec *spec, const struct home_record *record)
{
    return record->on_disk && !record->has_layer && !layer_needs_overlay(spec) && getegid() == 0 &&
           !strcmp(hutch_spec_backend(spec), "native");
}

/* ---- one name in its directory ---- */

/* The umask is the whole process's, and not ours to change. */
static int set_mode(int dir, const char *name, mode_t mode)
{
    struct stat info;
    if (fstatat(dir, name, &info, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    return (info.st_mode & 07777) == mode ? 0 : fchmodat(dir, name, mode, 0);
}

static int make_directory(int dir, const char *name, mode_t mode)
{
    return mkdirat(dir, name, mode) < 0 ? -1 : set_mode(dir, name, mode);
}

static int make_file(int dir, const char *name, const struct init_step *step, const char *text)
{
    hutch_autofd int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, step->mode);
    if (fd < 0 || hutch_write_all(fd, text, step->text_length) < 0)
        return -1;
    return set_mode(dir, name, step->mode);
}

/* What PID 1 finds out about a source that is not there is its affair. */
static int make_target(int dir, const char *name, const struct plan_tree *tree)
{
    struct stat info;
    bool is_directory = tree->directory || tree->kind == INIT_TREE_DIRECTORY;
    if (!is_directory && tree->kind == INIT_TREE_UNKNOWN) {
        if (stat(tree->path, &info) < 0)
            return 0;
        is_directory = S_ISDIR(info.st_mode);
    }
    if (is_directory)
        return make_directory(dir, name, PARENT_MODE);
    return mknodat(dir, name, S_IFREG | 0644, 0) < 0 ? -1 : set_mode(dir, name, 0644);
}

static int make_entry(const struct plan *plan, const struct init_step *step, int dir,
                      const char *name)
{
    const char *text = plan->blob.data + step->text;
    switch (step->op) {
    case INIT_OP_MKDIR:
        if (make_directory(dir, name, step->mode) < 0)
            return -1;
        return step->uid || step->gid
                   ? fchownat(dir, name, step->uid, step->gid, AT_SYMLINK_NOFOLLOW)
                   : 0;
    case INIT_OP_FILE:
        return make_file(dir, name, step, text);
    case INIT_OP_SYMLINK:
        return symlinkat(text, dir, name);
    case INIT_OP_ATTACH:
        return make_target(dir, name, &plan->trees[step->tree]);
    case INIT_OP_PROC:
    case INIT_OP_DEVPTS:
        return make_directory(dir, name, PARENT_MODE);
    default:
        return 0;
    }
}

/* ---- all of them ---- */

/* The directory that was used last: neighbouring steps mostly want the same one. */
struct room {
    int root;
    int dir;
    char path[PATH_BYTES];
};

/* One of the links that are made here would lead to the host. */
static int open_beneath(int dir, const char *path)
{
    const struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                                 .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    return (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
}

/* What is missing on the way is made, as PID 1 does it. */
static int open_parent(int root, char *path)
{
    int fd = open_beneath(root, path);
    if (fd >= 0 || errno != ENOENT)
        return fd;
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = '\0';
    hutch_autofd int above = slash ? open_parent(root, path) : open_beneath(root, ".");
    if (slash)
        *slash = '/';
    const char *name = slash ? slash + 1 : path;
    return above < 0 || make_directory(above, name, PARENT_MODE) < 0 ? -1
                                                                     : open_beneath(above, name);
}

/* The directory that holds path's last name, which is *ret_name. Borrowed. */
static int enter(struct room *room, const char *path, const char **ret_name)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 0;
    *ret_name = slash ? slash + 1 : path;
    if (!slash)
        return room->root;
    if (room->dir >= 0 && strlen(room->path) == length && !memcmp(room->path, path, length))
        return room->dir;
    hutch_fd_close(&room->dir);
    if (length >= sizeof(room->path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(room->path, path, length);
    room->path[length] = '\0';
    room->dir = open_parent(room->root, room->path);
    return room->dir;
}

static int make_entries(const struct plan *plan, int root)
{
    const uint16_t left_alone = INIT_STEP_USER | INIT_STEP_INSIDE | INIT_STEP_REPLACE;
    struct room room = {.root = root, .dir = HUTCH_NO_FD};
    int status = 0;
    for (size_t i = 0; status == 0 && i < plan->step_count; i++) {
        const struct init_step *step = &plan->steps[i];
        const char *name = "";
        if (step->flags & left_alone || step->op > INIT_OP_DEVPTS)
            continue;
        int dir = enter(&room, plan->blob.data + step->path, &name);
        status = dir < 0 ? -1 : make_entry(plan, step, dir, name);
        if (status < 0 && errno == EEXIST) /* made on the way to another */
            status = 0;
    }
    hutch_fd_close(&room.dir);
    return status;
}

static int plan_root(struct plan *plan, struct identity *identity, const struct hutch_spec *spec,
                     struct hutch_error *err)
{
    const struct plan_input input = {.spec = spec,
                                     .identity = identity,
                                     .privileged = true,
                                     .writable_fd = HUTCH_NO_FD,
                                     .writable_kept = true};
    if (identity_resolve(identity, spec, NULL, identity_asked(spec, NULL), err) < 0 ||
        plan_build(plan, &input, err) < 0)
        return -(int)err->code;
    return plan->blob.failed ? hutch_fail_nomem(err) : 0;
}

/* Its ids on disk are those of the inside. */
static int make_layer(const struct plan *plan, const struct hutch_spec *spec, const char *id,
                      struct hutch_error *err)
{
    struct pool_dir layer = POOL_DIR_INIT;
    int status = pool_open(&layer, id, err);
    if (status == 0)
        status = pool_create(&layer, hutch_spec_disk_bytes(spec), spec->limits.inodes, 0, 0, err);
    if (status == 0 && make_entries(plan, layer.dir) < 0) {
        status = hutch_fail_errno(err, errno, "make a sandbox's root");
        (void)pool_destroy(&layer);
    }
    hutch_fd_close(&layer.dir);
    return status;
}

int furnish_layer(const struct hutch_spec *spec, const char *id, struct hutch_error *err)
{
    struct identity identity = {0};
    struct plan *plan = calloc(1, sizeof(*plan));
    if (!plan)
        return hutch_fail_nomem(err);
    int status = plan_root(plan, &identity, spec, err);
    if (status == 0)
        status = make_layer(plan, spec, id, err);
    plan_done(plan);
    free(plan);
    return status;
}
