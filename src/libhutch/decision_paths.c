/* SPDX-License-Identifier: Apache-2.0 */
/* The spec's paths on the host as the kernel sees them now: a policy is about places, not about the
 * names that links give them. Later, where a sandbox is built, no link may stand on the way
 * (backend/native/source.c): so what was checked is what enters. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/field.h"
#include "libhutch/decision.h"

/* What is not there yet is a name in a directory that is. */
static char *resolve_parent(const char *path)
{
    hutch_autofree char *copy = strdup(path);
    char resolved[PATH_MAX], *whole = NULL;
    if (!copy)
        return NULL;
    size_t length = strlen(copy);
    while (length > 1 && copy[length - 1] == '/')
        copy[--length] = '\0';
    char *slash = strrchr(copy, '/');
    const char *name = slash ? slash + 1 : copy;
    if (!*name || !strcmp(name, ".") || !strcmp(name, "..")) {
        errno = ENOENT;
        return NULL;
    }
    if (slash)
        *slash = '\0';
    if (!realpath(!slash ? "." : *copy ? copy : "/", resolved))
        return NULL;
    if (asprintf(&whole, "%s/%s", strcmp(resolved, "/") != 0 ? resolved : "", name) < 0)
        return NULL;
    return whole;
}

static int resolve(const char *path, bool may_be_new, char **ret_path, struct hutch_error *err)
{
    char *resolved = realpath(path, NULL);
    if (!resolved && errno == ENOENT && may_be_new)
        resolved = resolve_parent(path);
    if (!resolved && errno == ENOENT)
        return hutch_fail(err, HUTCH_E_NOT_FOUND, ENOENT,
                          "'%.300s' does not exist; make it first or correct the path", path);
    if (!resolved)
        return hutch_fail_errno(err, errno, "see where '%.300s' is", path);
    *ret_path = resolved;
    return 0;
}

static int resolve_text(struct hutch_spec_over *over, const char *field, const char *path,
                        bool may_be_new, struct hutch_error *err)
{
    char *resolved = NULL;
    if (!path)
        return 0;
    if (resolve(path, may_be_new, &resolved, err) < 0 || !resolved)
        return hutch_wrap(err, "%s: ", field);
    if (strcmp(path, resolved) != 0)
        *(char **)hutch_spec_over_detach(over, (size_t)hutch_field_find(field)) =
            HUTCH_TAKE_PTR(resolved);
    free(resolved);
    return 0;
}

static int resolve_workspace(struct hutch_spec_over *over, struct hutch_error *err)
{
    struct hutch_workspace workspace = over->spec.workspace;
    char *resolved = NULL;
    if (!workspace.path)
        return 0;
    if (resolve(workspace.path, false, &resolved, err) < 0 || !resolved)
        return hutch_wrap(err, "workspace: ");
    if (!strcmp(workspace.path, resolved)) {
        free(resolved);
        return 0;
    }
    struct hutch_workspace *slot =
        hutch_spec_over_detach(over, (size_t)hutch_field_find("workspace"));
    *slot = (struct hutch_workspace){resolved, workspace.mode};
    return 0;
}

/* A list of its own as soon as it is filled: released with the rest whatever happens. */
static int resolve_mounts(struct hutch_spec_over *over, struct hutch_error *err)
{
    const struct hutch_mounts asked = over->spec.mounts;
    if (!asked.count)
        return 0;
    struct hutch_mount *items = calloc(asked.count, sizeof(*items));
    if (!items)
        return hutch_fail_nomem(err);
    struct hutch_mounts *slot = hutch_spec_over_detach(over, (size_t)hutch_field_find("mounts"));
    *slot = (struct hutch_mounts){items, asked.count};
    for (size_t i = 0; i < asked.count; i++) {
        if (resolve(asked.items[i].source, false, &items[i].source, err) < 0)
            return hutch_wrap(err, "mounts: ");
        items[i].target = strdup(asked.items[i].target);
        items[i].read_only = asked.items[i].read_only;
        if (!items[i].target)
            return hutch_fail_nomem(err);
    }
    return 0;
}

static int resolve_env_files(struct hutch_spec_over *over, struct hutch_error *err)
{
    const struct hutch_strlist asked = over->spec.env_files;
    if (!asked.count)
        return 0;
    struct hutch_strlist *slot =
        hutch_spec_over_detach(over, (size_t)hutch_field_find("env_files"));
    for (size_t i = 0; i < asked.count; i++) {
        char *resolved = NULL;
        if (resolve(asked.items[i], false, &resolved, err) < 0)
            return hutch_wrap(err, "env_files: ");
        if (hutch_strlist_take(slot, resolved, err) < 0)
            return -(int)err->code;
    }
    return 0;
}

int decision_paths(struct hutch_spec_over *over, struct hutch_error *err)
{
    if (resolve_text(over, "rootfs", over->spec.rootfs, false, err) < 0 ||
        resolve_text(over, "artifacts", over->spec.artifacts, true, err) < 0 ||
        resolve_workspace(over, err) < 0 || resolve_mounts(over, err) < 0)
        return -(int)err->code;
    return resolve_env_files(over, err);
}
