/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a sandbox, and what comes of it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/spec.h"
#include "remote/client.h"
#include "remote/files.h"
#include "remote/sandbox.h"
#include "util/own.h"

/* What was known of it is not any more. */
static int act(struct hutch_sandbox *sandbox, const char *verb, json_t *body,
               struct hutch_error *err)
{
    struct remote_call call = REMOTE_CALL(remote_path("/api/sandboxes/{}/{}", sandbox->name, verb),
                                          .method = "POST", .body = body);
    sandbox->is_fresh = false;
    return remote_do(&call, NULL, err);
}

int hutch_sandbox_stop(struct hutch_sandbox *sandbox, uint64_t grace_ms, struct hutch_error *err)
{
    char grace[32];
    (void)snprintf(grace, sizeof(grace), "%" PRIu64 "ms", grace_ms);
    return act(sandbox, "stop", json_pack("{s:s}", "grace", grace), err);
}

int hutch_sandbox_kill(struct hutch_sandbox *sandbox, struct hutch_error *err)
{
    return act(sandbox, "kill", NULL, err);
}

int hutch_sandbox_start(struct hutch_sandbox *sandbox, struct hutch_error *err)
{
    return act(sandbox, "start", NULL, err);
}

int hutch_sandbox_pause(struct hutch_sandbox *sandbox, struct hutch_error *err)
{
    return act(sandbox, "pause", NULL, err);
}

int hutch_sandbox_resume(struct hutch_sandbox *sandbox, struct hutch_error *err)
{
    return act(sandbox, "resume", NULL, err);
}

int hutch_sandbox_remove(struct hutch_sandbox *sandbox, bool force, struct hutch_error *err)
{
    struct remote_call call =
        REMOTE_CALL(remote_path_add(remote_path("/api/sandboxes/{}", sandbox->name), "force",
                                    force ? "1" : "0"),
                    .method = "DELETE");
    return remote_do(&call, NULL, err);
}

/* The fields are said as in a spec, so that a list is a list and a size one that was read here. */
int hutch_sandbox_update(struct hutch_sandbox *sandbox, size_t count, const char *const *fields,
                         const char *const *texts, struct hutch_error *err)
{
    struct hutch_spec *spec = NULL;
    hutch_autofree char *json = NULL;
    int failed = hutch_spec_new(&spec, err);
    for (size_t i = 0; i < count && !failed; i++)
        failed = hutch_spec_set(spec, fields[i], texts[i], err);
    if (!failed)
        failed = hutch_spec_to_json_set(spec, &json, err);
    hutch_spec_free(spec);
    if (failed)
        return failed;
    json_t *body = json_loads(json, 0, NULL);
    return body ? act(sandbox, "update", body, err) : hutch_fail_nomem(err);
}

/* ---- what comes of one ----------------------------------------------------------------------- */

int hutch_sandbox_fork(struct hutch_sandbox *sandbox, const char *name,
                       struct hutch_sandbox **ret_sandbox, struct hutch_error *err)
{
    json_t *answer = NULL;
    struct remote_call call =
        REMOTE_CALL(remote_path("/api/sandboxes/{}/fork", sandbox->name), .method = "POST",
                    .body = name ? json_pack("{s:s}", "name", name) : json_object());
    if (remote_do(&call, &answer, err) < 0)
        return -(int)err->code;
    return remote_sandbox_take(answer, ret_sandbox, err);
}

int hutch_sandbox_snapshot(struct hutch_sandbox *sandbox, const char *name, struct hutch_error *err)
{
    return act(sandbox, "snapshot", json_pack("{s:s}", "name", name), err);
}

int hutch_sandbox_changes(struct hutch_sandbox *sandbox, hutch_change_seen_fn on_change,
                          void *userdata, struct hutch_error *err)
{
    static const char *const kinds[] = {"added", "modified", "deleted", "type", "metadata"};
    remote_autojson json_t *answer = NULL;
    struct remote_call call = REMOTE_CALL(remote_path("/api/sandboxes/{}/diff", sandbox->name));
    size_t index;
    const json_t *row;
    if (remote_do(&call, &answer, err) < 0)
        return -(int)err->code;
    const json_t *list = remote_list(answer, "changes", err);
    if (!list)
        return -(int)err->code;
    json_array_foreach(list, index, row)
    {
        const char *path = remote_text(row, "path"), *kind = remote_text(row, "kind");
        int status = 0;
        for (size_t i = 0; path && kind && i < HUTCH_COUNT(kinds); i++)
            if (!strcmp(kinds[i], kind))
                status = on_change(userdata, kinds[i], path);
        if (status)
            return status;
    }
    return 0;
}

int hutch_sandbox_diff(struct hutch_sandbox *sandbox, int fd, struct hutch_error *err)
{
    struct remote_call call =
        REMOTE_CALL(remote_path("/api/sandboxes/{}/diff?workspace=1", sandbox->name),
                    .accept = "text/x-diff", .on_data = remote_write_on, .userdata = &fd);
    return remote_do(&call, NULL, err);
}

int hutch_sandbox_apply(struct hutch_sandbox *sandbox, bool dry_run, hutch_conflict_fn on_conflict,
                        void *userdata, struct hutch_applied *ret_applied, struct hutch_error *err)
{
    remote_autojson json_t *answer = NULL;
    struct remote_call call =
        REMOTE_CALL(remote_path("/api/sandboxes/{}/apply", sandbox->name), .method = "POST",
                    .body = json_pack("{s:b}", "dry_run", dry_run));
    size_t index;
    const json_t *row;
    if (remote_do(&call, &answer, err) < 0)
        return -(int)err->code;
    const json_t *conflicts = json_object_get(answer, "conflicts");
    *ret_applied = (struct hutch_applied){.added = remote_number(answer, "added", 0),
                                          .modified = remote_number(answer, "modified", 0),
                                          .deleted = remote_number(answer, "deleted", 0),
                                          .conflicts = json_is_array(conflicts)
                                                           ? json_array_size(conflicts)
                                                           : remote_number(answer, "conflicts", 0)};
    json_array_foreach(conflicts, index, row)
    {
        const char *path = remote_text(row, "path"), *why = remote_text(row, "why");
        if (on_conflict)
            on_conflict(userdata, path ? path : "", why ? why : "");
    }
    return 0;
}

/* ---- figures --------------------------------------------------------------------------------- */

static uint64_t figure(const json_t *json, const char *key)
{
    return remote_number(json, key, HUTCH_STATS_UNKNOWN);
}

int hutch_sandbox_stats(struct hutch_sandbox *sandbox, struct hutch_stats *ret_stats,
                        struct hutch_error *err)
{
    remote_autojson json_t *answer = NULL;
    struct remote_call call = REMOTE_CALL(remote_path("/api/sandboxes/{}/stats", sandbox->name));
    if (remote_do(&call, &answer, err) < 0)
        return -(int)err->code;
    const json_t *cpus = json_object_get(answer, "cpus_limit");
    const char *command = remote_text(answer, "command");
    *ret_stats = (struct hutch_stats){
        .time_us = remote_number(answer, "time_us", 0),
        .cpu_us = figure(answer, "cpu_us"),
        .cpus_limit_milli = json_is_number(cpus) && json_number_value(cpus) >= 0
                                ? (uint64_t)(json_number_value(cpus) * 1000 + 0.5)
                                : HUTCH_STATS_UNKNOWN,
        .memory_bytes = figure(answer, "memory_bytes"),
        .memory_peak_bytes = figure(answer, "memory_peak_bytes"),
        .memory_limit_bytes = figure(answer, "memory_limit_bytes"),
        .pids = figure(answer, "pids"),
        .pids_peak = figure(answer, "pids_peak"),
        .pids_limit = figure(answer, "pids_limit"),
        .disk_bytes = figure(answer, "disk_bytes"),
        .disk_limit_bytes = figure(answer, "disk_limit_bytes"),
        .oom_kills = figure(answer, "oom_kills"),
        .running = figure(answer, "running"),
    };
    (void)snprintf(ret_stats->command, sizeof(ret_stats->command), "%s", command ? command : "");
    return 0;
}

/* Without figures there is nothing to ask: its state is in what the daemon tells of a sandbox. */
int hutch_sandbox_stats_many(size_t count, struct hutch_sandbox *const *sandboxes,
                             uint64_t timeout_ms, struct hutch_stats *ret_stats, int *ret_status,
                             struct hutch_error *err)
{
    (void)timeout_ms; /* the daemon has its own for a keeper that does not answer */
    for (size_t i = 0; i < count; i++) {
        struct hutch_error one = HUTCH_ERROR_INIT;
        ret_status[i] = ret_stats ? hutch_sandbox_stats(sandboxes[i], &ret_stats[i], &one) : 0;
        if (one.code == HUTCH_E_PERMISSION) { /* and so will all the others */
            *err = one;
            return -(int)err->code;
        }
    }
    return 0;
}
