/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "backend/docker/plan.h"
#include "backend/native/source.h"
#include "util/own.h"

/* Of the three bits that are asked for, are all in the mode for this user? */
static bool may(const struct docker_plan *plan, const struct stat *info, unsigned bits)
{
    unsigned shift = info->st_uid == plan->uid ? 6 : info->st_gid == plan->gid ? 3 : 0;
    return (info->st_mode >> shift & bits) == bits;
}

/* An engine mounts a directory with the owners that it has; natively they are mapped. What the
 * command could not use is told before it runs. */
static int check_owner(const struct docker_plan *plan, const struct hutch_mount *mount,
                       const struct stat *info, struct hutch_error *err)
{
    unsigned bits = mount->read_only ? 4 : 6;
    if (S_ISDIR(info->st_mode))
        bits |= 1;
    if (!plan->has_ids || may(plan, info, bits))
        return 0;
    return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                      "mount '%.150s': it belongs to user %u, and user %u, who runs the command, "
                      "may not %s it; the engine maps no owners: use --user, change its mode, or "
                      "use --workspace, which is copied, or backend native",
                      mount->source, info->st_uid, plan->uid,
                      mount->read_only ? "read" : "write to");
}

int docker_plan_sources(const struct docker_plan *plan, struct hutch_error *err)
{
    struct stat info;
    for (size_t i = 0; i < plan->spec->mounts.count; i++)
        if (source_check(plan->spec->mounts.items[i].source, &info, err) < 0)
            return -(int)err->code;
    return 0;
}

int docker_plan_mounts(const struct docker_plan *plan, struct hutch_error *err)
{
    for (size_t i = 0; i < plan->spec->mounts.count; i++) {
        const struct hutch_mount *mount = &plan->spec->mounts.items[i];
        struct stat info;
        if (stat(mount->source, &info) < 0)
            return hutch_fail_errno(err, errno, "look at '%.300s'", mount->source);
        if (check_owner(plan, mount, &info, err) < 0)
            return -(int)err->code;
    }
    return 0;
}
