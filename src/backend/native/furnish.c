/* SPDX-License-Identifier: Apache-2.0 */
/* Nobody else has a way into the directory yet, so its names are taken as they are. */
#include "backend/native/furnish.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/native/plan.h"
#include "backend/native/pool.h"
#include "core/isolation.h"
#include "util/fs.h"
#include "util/own.h"

#define PARENT_MODE 0755
#define PATH_BYTES 256

bool furnish_is_wanted(const struct hutch_spec *spec, const struct home_record *record)
{
    bool hides_layer = spec->workspace.path && spec->workspace.mode == HUTCH_WORKSPACE_OVERLAY;
    return record->on_disk && !record->has_layer && !spec->rootfs && !spec->image && !hides_layer &&
           !strcmp(hutch_spec_backend(spec), "native");
}

/* The umask is the whole process's, and not ours to change. */
static int set_mode(int dir, const char *path, mode_t mode)
{
    struct stat info;
    if (fstatat(dir, path, &info, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    return (info.st_mode & 07777) == mode ? 0 : fchmodat(dir, path, mode, 0);
}

static int make_directory(int dir, const char *path, mode_t mode)
{
    return mkdirat(dir, path, mode) < 0 ? -1 : set_mode(dir, path, mode);
}

static int make_file(int dir, const char *path, const struct init_step *step, const char *text)
{
    hutch_autofd int fd = openat(dir, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, step->mode);
    if (fd < 0 || hutch_write_all(fd, text, step->text_length) < 0)
        return -1;
    return set_mode(dir, path, step->mode);
}

/* An empty file to mount on has the mode that PID 1 would give it. */
static int make_target(int dir, const char *path, const struct plan_tree *tree)
{
    struct stat info;
    bool is_directory = tree->directory || tree->kind == INIT_TREE_DIRECTORY;
    if (!is_directory && tree->kind == INIT_TREE_UNKNOWN) {
        if (stat(tree->path, &info) < 0)
            return 0; /* PID 1 finds out whether that matters */
        is_directory = S_ISDIR(info.st_mode);
    }
    if (is_directory)
        return make_directory(dir, path, PARENT_MODE);
    return mknodat(dir, path, S_IFREG | 0644, 0) < 0 ? -1 : set_mode(dir, path, 0644);
}

static int make_entry(const struct plan *plan, const struct init_step *step, int dir,
                      const char *path)
{
    const char *text = plan->blob.data + step->text;
    switch (step->op) {
    case INIT_OP_MKDIR:
        if (make_directory(dir, path, step->mode) < 0)
            return -1;
        return step->uid || step->gid
                   ? fchownat(dir, path, step->uid, step->gid, AT_SYMLINK_NOFOLLOW)
                   : 0;
    case INIT_OP_FILE:
        return make_file(dir, path, step, text);
    case INIT_OP_SYMLINK:
        return symlinkat(text, dir, path);
    case INIT_OP_ATTACH:
        return make_target(dir, path, &plan->trees[step->tree]);
    case INIT_OP_PROC:
    case INIT_OP_DEVPTS:
        return make_directory(dir, path, PARENT_MODE);
    default:
        return 0;
    }
}

static int make_parents(int dir, const char *path)
{
    char parent[PATH_BYTES];
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        size_t length = (size_t)(slash - path);
        if (length >= sizeof(parent))
            return -1;
        memcpy(parent, path, length);
        parent[length] = '\0';
        if (make_directory(dir, parent, PARENT_MODE) < 0 && errno != EEXIST)
            return -1;
    }
    return 0;
}

/* By a ".." a name would lead out of the layer, and from there to the host. */
static bool is_plain(const char *path)
{
    for (;;) {
        size_t length = strcspn(path, "/");
        if (length == 0 || (path[0] == '.' && (length == 1 || (length == 2 && path[1] == '.'))))
            return false;
        if (!path[length])
            return true;
        path += length + 1;
    }
}

static int make_entries(const struct plan *plan, int dir)
{
    const uint16_t left_alone = INIT_STEP_USER | INIT_STEP_INSIDE | INIT_STEP_REPLACE;
    for (size_t i = 0; i < plan->step_count; i++) {
        const struct init_step *step = &plan->steps[i];
        const char *path = plan->blob.data + step->path;
        if (step->flags & left_alone || !is_plain(path))
            continue;
        if (make_entry(plan, step, dir, path) < 0 &&
            (errno != ENOENT || make_parents(dir, path) < 0 ||
             make_entry(plan, step, dir, path) < 0) &&
            errno != EEXIST)
            return -1;
    }
    return 0;
}

/* Its ids on disk are those of the inside. */
static int fill(struct plan *plan, const struct hutch_spec *spec, int dir, struct hutch_error *err)
{
    struct identity identity = {0};
    if (identity_resolve(&identity, spec, NULL, identity_asked(spec, NULL), err) < 0)
        return -(int)err->code;
    const struct plan_input input = {.spec = spec,
                                     .identity = &identity,
                                     .privileged = true,
                                     .writable_fd = dir,
                                     .writable_kept = true};
    if (plan_build(plan, &input, err) < 0)
        return -(int)err->code;
    if (plan->blob.failed)
        return hutch_fail_nomem(err);
    return make_entries(plan, dir) < 0 ? hutch_fail_errno(err, errno, "make a sandbox's root") : 0;
}

int furnish_layer(const struct hutch_spec *spec, const char *id, struct hutch_error *err)
{
    struct pool_dir layer = POOL_DIR_INIT;
    struct plan *plan = calloc(1, sizeof(*plan));
    if (!plan)
        return hutch_fail_nomem(err);
    int status = pool_open(&layer, id, err);
    if (status == 0)
        status = pool_create(&layer, hutch_spec_disk_bytes(spec), spec->limits.inodes, 0, 0, err);
    if (status == 0) {
        status = fill(plan, spec, layer.dir, err);
        if (status < 0)
            (void)pool_destroy(&layer);
    }
    hutch_fd_close(&layer.dir);
    plan_done(plan);
    free(plan);
    return status;
}
