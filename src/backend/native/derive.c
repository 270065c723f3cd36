/* SPDX-License-Identifier: Apache-2.0 */
/* A sandbox's writable layer, looked at from outside. It lies in the pool, or in memory, where its
 * keeper has it open. Everything in it was written by the sandbox: it is only ever walked by
 * descriptor. */
#include "backend/native/derive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/native/client.h"
#include "backend/native/identity.h"
#include "backend/native/lifecycle.h"
#include "backend/native/merged.h"
#include "backend/native/plan.h"
#include "backend/native/pool.h"
#include "backend/native/sandbox.h"
#include "core/isolation.h"
#include "core/spec.h"
#include "store/apply.h"
#include "store/changes.h"
#include "store/treediff.h"
#include "util/fs.h"
#include "util/own.h"

/* ---- where it is ----------------------------------------------------------------------------- */

static int layer_from_keeper(struct hutch_sandbox *sandbox, struct hutch_error *err)
{
    struct wire_message request = WIRE_MESSAGE_INIT, answer;
    wire_begin(&request, "layer");
    int status = sandbox_ask(sandbox, &request, &answer, err);
    hutch_buf_done(&request.text);
    if (status < 0)
        return status;
    hutch_autofd int given = wire_take_fd(&answer, 0);
    wire_done(&answer);
    int fd = openat(given, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0
               ? hutch_fail_errno(err, errno, "open the files of sandbox '%s'", sandbox->home.name)
               : fd;
}

/* What a container has written lies where its engine keeps it. */
int derive_require_own_files(struct hutch_sandbox *sandbox, struct hutch_error *err)
{
    struct hutch_spec *spec = NULL;
    if (sandbox_spec(sandbox, &spec, err) < 0)
        return -(int)err->code;
    const char *backend = hutch_backend_name(hutch_spec_backend(spec));
    hutch_spec_free(spec);
    if (!strcmp(backend, "native"))
        return 0;
    return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                      "sandbox '%s' is a container of backend '%s', and fork, snapshot, diff and "
                      "apply are for backend 'native'; 'hutch cp' copies files out of it",
                      sandbox->home.name, backend);
}

static int open_layer(struct hutch_sandbox *sandbox, struct hutch_error *err)
{
    struct home_record record;
    if (derive_require_own_files(sandbox, err) < 0 || home_read(&sandbox->home, &record, err) < 0)
        return -(int)err->code;
    if (!record.on_disk)
        return layer_from_keeper(sandbox, err);
    struct pool_dir dir = POOL_DIR_INIT;
    if (pool_open(&dir, record.id, err) < 0)
        return -(int)err->code;
    int fd = openat(dir.dir, record.id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    hutch_fd_close(&dir.dir);
    return fd < 0
               ? hutch_fail_errno(err, errno, "open the files of sandbox '%s'", sandbox->home.name)
               : fd;
}

static int open_part(int layer, const char *name, struct hutch_error *err)
{
    int fd = openat(layer, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? hutch_fail_errno(err, errno, "open '%s' in a sandbox's files", name) : fd;
}

static int open_host(const char *path, struct hutch_error *err)
{
    int fd = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    return fd < 0 ? hutch_fail_errno(err, errno, "open '%.200s'", path ? path : "") : fd;
}

int derive_hold(struct hutch_sandbox *sandbox, struct hutch_error *err)
{
    struct home_record record;
    if (derive_require_own_files(sandbox, err) < 0 || home_read(&sandbox->home, &record, err) < 0)
        return -(int)err->code;
    if (record.state >= HOME_STOPPED)
        return record.on_disk ? home_hold(&sandbox->home, err) : 0;
    if (record.state == HOME_PAUSED)
        return 0;
    int status = client_simple(sandbox, "hold", err);
    if (status != -HUTCH_E_UNSUPPORTED)
        return status;
    return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                      "sandbox '%s' runs and cannot be paused meanwhile; stop it first with "
                      "'hutch stop %s'",
                      sandbox->home.name, sandbox->home.name);
}

int derive_open_upper(struct hutch_sandbox *sandbox, struct hutch_error *err)
{
    hutch_autofd int layer = open_layer(sandbox, err);
    return layer < 0 ? layer : open_part(layer, "upper", err);
}

/* ---- a second one ---------------------------------------------------------------------------- */

int derive_fork(struct hutch_sandbox *sandbox, struct hutch_spec *spec, const char *name,
                bool starts, struct hutch_sandbox **ret_sandbox, struct hutch_error *err)
{
    struct home_record record;
    if (derive_require_own_files(sandbox, err) < 0 || home_read(&sandbox->home, &record, err) < 0)
        return -(int)err->code;
    if (!record.on_disk)
        return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                          "sandbox '%s' has its files in memory and cannot be forked; make it as "
                          "root, with a disk of more than 256m",
                          sandbox->home.name);
    if (hutch_spec_rename(spec, name, err) < 0)
        return -(int)err->code;
    return lifecycle_derive(spec, &record, starts, ret_sandbox, err);
}

/* ---- what it has changed --------------------------------------------------------------------- */

struct report {
    hutch_change_seen_fn on_change;
    void *userdata;
    struct hutch_strlist made; /* paths that the set-up makes, and the ways to them */
    bool is_hidden;            /* the root is a directory of the layer, not the layer itself */
};

static int report_change(void *context, const struct hutch_change *change, struct hutch_error *err)
{
    const struct report *report = context;
    (void)err;
    if (change->kind == HUTCH_CHANGE_ADDED && hutch_strlist_has(&report->made, change->path))
        return 0;
    return report->on_change(report->userdata, hutch_change_kind_name(change->kind), change->path);
}

static int add_with_parents(struct hutch_strlist *paths, const char *path, struct hutch_error *err)
{
    for (const char *end = strchr(path, '/'); end; end = strchr(end + 1, '/'))
        if (hutch_strlist_addn(paths, path, (size_t)(end - path), err) < 0)
            return -(int)err->code;
    return hutch_strlist_add(paths, path, err);
}

static int learn_setup(struct report *report, const struct hutch_spec *spec,
                       const struct image_use *image, struct hutch_error *err)
{
    struct plan *plan = calloc(1, sizeof(*plan));
    struct identity identity = {0};
    if (!plan)
        return hutch_fail_nomem(err);
    struct plan_input input = {
        .spec = spec, .image = image, .identity = &identity, .writable_fd = HUTCH_NO_FD};
    int status = identity_resolve(&identity, spec, image, identity_asked(spec, image), err);
    if (status == 0)
        status = plan_build(plan, &input, err);
    for (size_t i = 0; i < plan->step_count && status == 0; i++)
        status = add_with_parents(&report->made, plan->blob.data + plan->steps[i].path, err);
    report->is_hidden = plan->header.hide_writable;
    plan_done(plan);
    free(plan);
    return status < 0 ? status : hutch_strlist_add(&report->made, "workspace", err);
}

/* The host's own programs below: all that is in the layer is new, but for what the set-up made. */
static int changes_of_host_root(int layer, struct report *report, struct hutch_error *err)
{
    hutch_autofd int hidden = HUTCH_NO_FD;
    if (report->is_hidden) {
        hidden = open_part(layer, "root", err);
        if (hidden < 0)
            return hidden;
        layer = hidden;
    }
    return hutch_changes_in_layer(layer, (const char *const *)report->made.items,
                                  report->made.count, report_change, report, err);
}

static int changes_of_root(const struct hutch_spec *spec, const struct image_use *image, int layer,
                           struct report *report, struct hutch_error *err)
{
    const struct hutch_changes_options options = {.ignore_owner = true};
    if (learn_setup(report, spec, image, err) < 0)
        return -(int)err->code;
    if (!spec->rootfs && !image)
        return changes_of_host_root(layer, report, err);
    hutch_autofd int upper = open_part(layer, "upper", err);
    if (upper < 0)
        return upper;
    /* an image without layers has an empty directory below */
    hutch_autofd int lower = !image                      ? open_host(spec->rootfs, err)
                             : image->image.layers.count ? merged_open(image, err)
                                                         : open_part(layer, "empty", err);
    return lower < 0 ? lower : hutch_changes(upper, lower, &options, report_change, report, err);
}

int derive_changes(struct hutch_sandbox *sandbox, hutch_change_seen_fn on_change, void *userdata,
                   struct hutch_error *err)
{
    struct report report = {.on_change = on_change, .userdata = userdata};
    struct hutch_spec *spec = NULL;
    hutch_autofd int layer = open_layer(sandbox, err);
    if (layer < 0)
        return layer;
    if (sandbox_spec(sandbox, &spec, err) < 0)
        return -(int)err->code;
    struct image_use image = IMAGE_USE_INIT;
    int status = spec->image ? image_use_open(&image, spec, err) : 0;
    if (status == 0)
        status = changes_of_root(spec, spec->image ? &image : NULL, layer, &report, err);
    image_use_done(&image);
    hutch_strlist_done(&report.made);
    hutch_spec_free(spec);
    return status;
}

/* ---- its workspace --------------------------------------------------------------------------- */

/* Both sides of a workspace in mode overlay. */
static int open_workspace(struct hutch_sandbox *sandbox, int *ret_upper, int *ret_lower,
                          struct hutch_error *err)
{
    struct hutch_spec *spec = NULL;
    hutch_autofd int layer = open_layer(sandbox, err);
    if (layer < 0)
        return layer;
    if (sandbox_spec(sandbox, &spec, err) < 0)
        return -(int)err->code;
    int status = 0;
    if (!spec->workspace.path || spec->workspace.mode != HUTCH_WORKSPACE_OVERLAY)
        status = hutch_fail(err, HUTCH_E_CONFLICT, 0,
                            "sandbox '%s' has no workspace in mode overlay; create it with "
                            "'--workspace DIR:overlay'",
                            sandbox->home.name);
    hutch_autofd int upper = status < 0 ? status : open_part(layer, "workspace-upper", err);
    hutch_autofd int lower = upper < 0 ? upper : open_host(spec->workspace.path, err);
    hutch_spec_free(spec);
    if (upper < 0 || lower < 0)
        return -(int)err->code;
    *ret_upper = HUTCH_TAKE_FD(upper);
    *ret_lower = HUTCH_TAKE_FD(lower);
    return 0;
}

static int write_text(void *context, const char *text, size_t length, struct hutch_error *err)
{
    const int *fd = context;
    if (hutch_write_all(*fd, text, length) < 0)
        return hutch_fail_errno(err, errno, "write the differences");
    return 0;
}

int derive_patch(struct hutch_sandbox *sandbox, int fd, struct hutch_error *err)
{
    int upper_fd = HUTCH_NO_FD, lower_fd = HUTCH_NO_FD;
    if (open_workspace(sandbox, &upper_fd, &lower_fd, err) < 0)
        return -(int)err->code;
    hutch_autofd int upper = upper_fd;
    hutch_autofd int lower = lower_fd;
    return hutch_treediff(upper, lower, write_text, &fd, err);
}

struct appliance {
    hutch_conflict_fn on_conflict;
    void *userdata;
    struct stat top; /* whose the workspace is, everything in it becomes */
};

static void tell_conflict(void *context, const char *path, enum hutch_conflict_reason reason)
{
    const struct appliance *appliance = context;
    if (appliance->on_conflict)
        appliance->on_conflict(appliance->userdata, path, hutch_conflict_reason_text(reason));
}

static void owner_of_top(void *context, uid_t uid, gid_t gid, uid_t *ret_uid, gid_t *ret_gid)
{
    const struct appliance *appliance = context;
    (void)uid, (void)gid;
    *ret_uid = appliance->top.st_uid;
    *ret_gid = appliance->top.st_gid;
}

int derive_apply(struct hutch_sandbox *sandbox, bool dry_run, hutch_conflict_fn on_conflict,
                 void *userdata, struct hutch_applied *ret_applied, struct hutch_error *err)
{
    struct appliance appliance = {.on_conflict = on_conflict, .userdata = userdata};
    struct hutch_apply_counts counts = {0};
    struct home_record record;
    int upper_fd = HUTCH_NO_FD, lower_fd = HUTCH_NO_FD;
    if (home_read(&sandbox->home, &record, err) < 0 ||
        open_workspace(sandbox, &upper_fd, &lower_fd, err) < 0)
        return -(int)err->code;
    hutch_autofd int upper = upper_fd;
    hutch_autofd int lower = lower_fd;
    if (fstat(lower, &appliance.top) < 0)
        return hutch_fail_errno(err, errno, "look at the workspace");
    struct hutch_apply_options options = {.since_ns = record.created_us * 1000 + 999,
                                          .dry_run = dry_run,
                                          .owner = geteuid() == 0 ? owner_of_top : NULL,
                                          .conflict = tell_conflict,
                                          .context = &appliance};
    int status = hutch_apply(upper, lower, &options, &counts, err);
    *ret_applied = (struct hutch_applied){.added = counts.added,
                                          .modified = counts.modified + counts.metadata,
                                          .deleted = counts.deleted,
                                          .conflicts = counts.conflicts};
    return status;
}
