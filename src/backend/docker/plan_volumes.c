/* SPDX-License-Identifier: Apache-2.0 */
/* Beside a root that is read-only, what a command writes and what is copied in are in volumes, but
 * for what is in memory anyway. They have no names: the engine removes them with their container.
 */
#include "backend/docker/plan.h"
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
