/* SPDX-License-Identifier: Apache-2.0 */
/* Beside a root that is read-only, what a command writes and what is copied in are in volumes, but
 * for what is in memory anyway. They have no names: the engine removes them with their container.
 *
 * An image may name directories that are to be volumes, too, and an engine leaves those writable
 * beside such a root; it makes none that is read-only and goes with its container. */
#include "backend/docker/plan.h"

#include <string.h>

#include "core/check.h"
#include "util/own.h"

/* An engine puts nothing into a root that is read-only, podman does. */
static bool has_guest_volume(const struct docker_plan *plan)
{
    return !plan->guest[0] && !plan->is_podman;
}

static bool has_workspace_volume(const struct docker_plan *plan)
{
    return plan->workspace == PLAN_WAY_ARCHIVE ||
           (plan->workspace == PLAN_WAY_NONE && !plan->in_memory);
}

size_t docker_plan_volumes(const struct docker_plan *plan, const char *ret_targets[PLAN_VOLUMES])
{
    const struct {
        const char *target;
        bool is_wanted;
    } rows[PLAN_VOLUMES] = {{CONTAINER_GUEST_DIRECTORY, has_guest_volume(plan)},
                            {"/tmp", !plan->in_memory},
                            {PLAN_HOME, !plan->in_memory},
                            {PLAN_WORKSPACE, has_workspace_volume(plan)},
                            {PLAN_ARTIFACTS, plan->spec->artifacts != NULL}};
    size_t count = 0;
    for (size_t i = 0; plan->spec->read_only && i < HUTCH_COUNT(rows); i++)
        if (rows[i].is_wanted && !docker_plan_is_taken(plan->spec, rows[i].target, false))
            ret_targets[count++] = rows[i].target;
    return count;
}

bool docker_plan_is_taken(const struct hutch_spec *spec, const char *target, bool or_below)
{
    size_t count = spec->tmpfs.count + spec->mounts.count;
    for (size_t i = 0; i < count; i++) {
        const char *given = i < spec->tmpfs.count
                                ? spec->tmpfs.items[i].target
                                : spec->mounts.items[i - spec->tmpfs.count].target;
        if (hutch_path_is_within(target, given) ||
            (or_below && hutch_path_is_within(given, target)))
            return true;
    }
    return false;
}

/* ---- volumes of the image ---- */

/* Something else is mounted there, and an engine takes that instead. */
static bool is_asked_for(const struct hutch_spec *spec, const char *path)
{
    for (size_t i = 0; i < spec->tmpfs.count; i++)
        if (!strcmp(spec->tmpfs.items[i].target, path))
            return true;
    for (size_t i = 0; i < spec->mounts.count; i++)
        if (!strcmp(spec->mounts.items[i].target, path))
            return true;
    return false;
}

static bool is_given(const struct docker_plan *plan, const char *path)
{
    const char *targets[PLAN_VOLUMES];
    size_t count = docker_plan_volumes(plan, targets);
    for (size_t i = 0; i < count; i++)
        if (!strcmp(targets[i], path))
            return true;
    if (is_asked_for(plan->spec, path))
        return true;
    return !strcmp(path, PLAN_WORKSPACE) || (plan->guest[0] && !strcmp(path, CONTAINER_GUEST_PATH));
}

/* Below a directory that is the command's own, and not covered by one of the spec's. */
static bool is_open(const struct docker_plan *plan, const char *path)
{
    const struct hutch_spec *spec = plan->spec;
    const struct {
        const char *place;
        bool is_own;
    } rows[] = {
        {"/tmp", true},
        {PLAN_HOME, true},
        {"/dev/shm", true},
        {PLAN_WORKSPACE, !spec->workspace.path || spec->workspace.mode != HUTCH_WORKSPACE_RO},
        {PLAN_ARTIFACTS, spec->artifacts != NULL}};
    for (size_t i = 0; i < HUTCH_COUNT(rows); i++)
        if (rows[i].is_own && hutch_path_is_within(path, rows[i].place) &&
            !docker_plan_is_taken(spec, rows[i].place, false))
            return true;
    return false;
}

/* See body.c: what podman would open is closed without being asked. */
static bool is_closed(const struct docker_plan *plan, const char *path)
{
    return plan->is_podman && (!strcmp(path, "/run") || !strcmp(path, "/var/tmp")) &&
           !docker_plan_is_taken(plan->spec, path, true);
}

/* A container's quota is for its own layer. */
static int check_bound(const struct docker_plan *plan, const char *path, struct hutch_error *err)
{
    if (plan->order->missing & HUTCH_PROMISE_BIT(DISK) || is_asked_for(plan->spec, path))
        return 0;
    return hutch_fail(err, HUTCH_E_UNENFORCEABLE, 0,
                      "disk: the image has a volume at '%.200s', which the engine's limit does not "
                      "reach; put something else there with --tmpfs or --mount, or go without the "
                      "limit: --allow-missing disk",
                      path);
}

int docker_plan_check_volumes(const struct docker_plan *plan, struct hutch_error *err)
{
    size_t count = plan->volumes ? plan->volumes->count : 0;
    for (size_t i = 0; i < count; i++) {
        const char *path = plan->volumes->items[i];
        if (check_bound(plan, path, err) < 0)
            return -(int)err->code;
        if (!plan->spec->read_only)
            continue;
        if (hutch_path_is_normal(path) &&
            (is_given(plan, path) || is_open(plan, path) || is_closed(plan, path)))
            continue;
        return hutch_fail(err, HUTCH_E_UNENFORCEABLE, 0,
                          "read_only: the image has a volume at '%.200s', which the engine would "
                          "leave writable; put something else there with --tmpfs or --mount, or "
                          "use backend 'native' or 'oci'",
                          path);
    }
    return 0;
}
