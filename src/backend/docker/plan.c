/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/docker/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "util/own.h"

static bool read_id(const char *text, size_t length, uint32_t *ret_id)
{
    uint64_t value = 0;
    if (!length || length > 10)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        value = value * 10 + (uint64_t)(text[i] - '0');
    }
    *ret_id = (uint32_t)value;
    return value < UINT32_MAX;
}

/* "U:G" in numbers; a number alone is its own group, as natively. */
static void read_ids(struct docker_plan *plan)
{
    size_t length = strcspn(plan->user, ":");
    const char *group = plan->user[length] ? plan->user + length + 1 : NULL;
    plan->has_ids = read_id(plan->user, length, &plan->uid) && group &&
                    read_id(group, strlen(group), &plan->gid);
}

static bool is_root(const char *user)
{
    uint32_t uid = 1;
    size_t length = strcspn(user, ":");
    return (length == 4 && !strncmp(user, "root", 4)) || (read_id(user, length, &uid) && !uid);
}

static void set_ids(struct docker_plan *plan, uint32_t uid, uint32_t gid)
{
    plan->has_ids = true;
    plan->uid = uid;
    plan->gid = gid;
    (void)snprintf(plan->user, sizeof(plan->user), "%u:%u", uid, gid);
}

static int set_asked(struct docker_plan *plan, const char *user, bool maps_ids,
                     struct hutch_error *err)
{
    uint32_t uid;
    if (is_root(user) && !maps_ids)
        return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                          "user '%.60s' is refused: this engine maps no ids, root inside would be "
                          "root of its host; use another user, backend native, or an engine that "
                          "is rootless or has userns-remap",
                          user);
    if (read_id(user, strlen(user), &uid))
        (void)snprintf(plan->user, sizeof(plan->user), "%u:%u", uid, uid);
    else
        (void)snprintf(plan->user, sizeof(plan->user), "%s", user);
    read_ids(plan);
    return 0;
}

int docker_plan_user(struct docker_plan *plan, const struct docker_image *image, bool maps_ids,
                     struct hutch_error *err)
{
    struct stat info;
    const struct hutch_spec *spec = plan->spec;
    if (plan->order->has_ids)
        set_ids(plan, plan->order->uid, plan->order->gid);
    else if (spec->user)
        return set_asked(plan, spec->user, maps_ids, err);
    else if (plan->sees_host && spec->workspace.path &&
             spec->workspace.mode == HUTCH_WORKSPACE_RW && stat(spec->workspace.path, &info) == 0 &&
             info.st_uid != 0)
        set_ids(plan, info.st_uid, info.st_gid);
    else if (image->user[0] && !is_root(image->user)) {
        (void)snprintf(plan->user, sizeof(plan->user), "%s", image->user);
        read_ids(plan);
    } else {
        set_ids(plan, PLAN_DEFAULT_ID, PLAN_DEFAULT_ID);
    }
    return 0;
}

/* Is the user the one who has it, or may everybody look at it? What is below is not looked at. */
static bool suits(const struct docker_plan *plan, const struct stat *info, bool only_reads)
{
    if (plan->has_ids && info->st_uid == plan->uid)
        return true;
    return only_reads && (info->st_mode & 05) == 05;
}

int docker_plan_workspace(struct docker_plan *plan, struct hutch_error *err)
{
    const struct hutch_workspace *workspace = &plan->spec->workspace;
    struct stat info;
    plan->workspace = PLAN_WAY_NONE;
    if (!workspace->path)
        return 0;
    if (stat(workspace->path, &info) < 0)
        return hutch_fail_errno(err, errno, "workspace '%.300s'", workspace->path);
    if (!S_ISDIR(info.st_mode))
        return hutch_fail(err, HUTCH_E_INVALID, ENOTDIR, "workspace '%.300s' is not a directory",
                          workspace->path);
    plan->workspace = PLAN_WAY_ARCHIVE;
    bool is_itself = workspace->mode == HUTCH_WORKSPACE_RW || workspace->mode == HUTCH_WORKSPACE_RO;
    if (plan->sees_host && is_itself && suits(plan, &info, workspace->mode == HUTCH_WORKSPACE_RO))
        plan->workspace = PLAN_WAY_BIND;
    return 0;
}

bool docker_plan_copies(const struct docker_plan *plan)
{
    return !plan->guest[0] || plan->workspace == PLAN_WAY_ARCHIVE || !plan->in_memory ||
           plan->spec->artifacts;
}
