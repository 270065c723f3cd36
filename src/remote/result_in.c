/* SPDX-License-Identifier: Apache-2.0 */
#include "remote/result_in.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/isolation.h"
#include "core/result.h"
#include "remote/client.h"
#include "util/own.h"

static int read_reason(const json_t *json, enum hutch_reason *ret_reason, struct hutch_error *err)
{
    const char *name = remote_text(json, "reason");
    for (int i = 0; name && i < HUTCH_REASON_COUNT; i++)
        if (!strcmp(name, hutch_reason_name((enum hutch_reason)i))) {
            *ret_reason = (enum hutch_reason)i;
            return 0;
        }
    return remote_fail_strange(err, "a result without a reason");
}

static const char *layer_name(const char *name)
{
    return strcmp(name, "disk") ? "memory" : "disk";
}

/* A word that lasts longer than the answer; NULL where there is none. */
static const char *name_of(const json_t *json, const char *key, const char *(*find)(const char *))
{
    const char *name = remote_text(json, key);
    return name ? find(name) : NULL;
}

static hutch_promise_set read_missing(const json_t *list)
{
    hutch_promise_set set = 0;
    size_t index;
    const json_t *item;
    json_array_foreach(list, index, item)
    {
        struct hutch_error ignored = HUTCH_ERROR_INIT;
        hutch_promise_set one = 0;
        const char *name = json_string_value(item);
        if (name && hutch_promise_parse(name, &one, &ignored) == 0)
            set |= one;
    }
    return set;
}

static void read_usage(const json_t *json, struct hutch_usage *usage)
{
    usage->cpu_us = remote_number(json, "cpu_ms", 0) * 1000;
    usage->memory_peak_bytes = remote_number(json, "memory_peak_bytes", 0);
    usage->pids_peak = remote_number(json, "pids_peak", 0);
    usage->disk_peak_bytes = remote_number(json, "disk_peak_bytes", 0);
    usage->oom_kills = remote_number(json, "oom_kills", 0);
    usage->has_memory_peak = json_is_integer(json_object_get(json, "memory_peak_bytes"));
    usage->has_pids_peak = json_is_integer(json_object_get(json, "pids_peak"));
}

static void read_error(const json_t *json, struct hutch_error *error)
{
    if (!json_is_object(json))
        return;
    const char *message = remote_text(json, "message");
    error->code = remote_code(remote_text(json, "code"), 500);
    (void)snprintf(error->msg, sizeof(error->msg), "%s", message ? message : "");
}

static int read_parts(struct hutch_result_owned *owned, const json_t *json, struct hutch_error *err)
{
    struct hutch_result *result = &owned->result;
    const json_t *isolation = json_object_get(json, "isolation");
    const json_t *egress = json_object_get(json, "egress");
    const char *id = remote_text(json, "id");
    const json_t *exit_code = json_object_get(json, "exit_code");
    if (read_reason(json, &result->reason, err) < 0)
        return -(int)err->code;
    if (!json_is_integer(exit_code) || json_integer_value(exit_code) < 0 ||
        json_integer_value(exit_code) > 255)
        return remote_fail_strange(err, "a result without an exit code");
    if (remote_is_id(id))
        (void)snprintf(result->id, sizeof(result->id), "%s", id);
    result->exit_code = (int)json_integer_value(exit_code);
    result->signal = (int)(remote_number(json, "signal", 0) & 127);
    result->ok = remote_flag(json, "ok");
    result->held_pipes = remote_flag(json, "held_pipes");
    result->duration_us = remote_number(json, "duration_ms", 0) * 1000;
    read_usage(json_object_get(json, "usage"), &result->usage);
    result->backend = name_of(isolation, "backend", hutch_backend_name);
    result->isolation_level = name_of(isolation, "level", hutch_level_name);
    result->writable_layer = name_of(isolation, "writable_layer", layer_name);
    hutch_result_set_missing(owned, read_missing(json_object_get(isolation, "missing")));
    read_error(json_object_get(json, "error"), &result->error);
    if (json_is_object(egress) &&
        remote_egress_in(egress, json_object_get(json, "egress_denied"), &owned->egress, err) < 0)
        return -(int)err->code;
    result->egress = owned->egress;
    return 0;
}

int remote_result_in(const json_t *json, struct hutch_result **ret_result, struct hutch_error *err)
{
    struct hutch_result_owned *owned = hutch_result_new();
    if (!owned)
        return hutch_fail_nomem(err);
    if (read_parts(owned, json, err) < 0) {
        hutch_result_free(&owned->result);
        return -(int)err->code;
    }
    *ret_result = &owned->result;
    return 0;
}

int remote_result_cancelled(struct hutch_result **ret_result, struct hutch_error *err)
{
    struct hutch_result_owned *owned = hutch_result_new();
    if (!owned)
        return hutch_fail_nomem(err);
    owned->result.reason = HUTCH_REASON_CANCELLED;
    owned->result.signal = SIGKILL;
    owned->result.exit_code = 128 + SIGKILL;
    *ret_result = &owned->result;
    return 0;
}
