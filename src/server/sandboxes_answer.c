/* SPDX-License-Identifier: Apache-2.0 */
/* A sandbox as answers tell of it. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "server/sandboxes.h"
#include "server/util.h"

void sandbox_time(uint64_t time_us, char ret_text[SANDBOX_TIME_BYTES])
{
    time_t seconds = (time_t)(time_us / 1000000);
    struct tm utc;
    ret_text[0] = '\0';
    if (!gmtime_r(&seconds, &utc))
        return;
    size_t used = strftime(ret_text, SANDBOX_TIME_BYTES, "%Y-%m-%dT%H:%M:%S", &utc);
    (void)snprintf(ret_text + used, SANDBOX_TIME_BYTES - used, ".%03uZ",
                   (unsigned)(time_us / 1000 % 1000));
}

/* The names that people know, and what stands deep in the spec. */
static int add_known_names(json_t *answer)
{
    char created[SANDBOX_TIME_BYTES];
    const json_t *ms = json_object_get(answer, "created_ms");
    const json_t *spec = json_object_get(answer, "spec");
    json_t *tenant = json_object_get(json_object_get(spec, "policy"), "tenant");
    json_t *labels = json_object_get(spec, "labels");
    sandbox_time((uint64_t)json_integer_value(ms) * 1000, created);
    return json_object_set(answer, "sandbox_id", json_object_get(answer, "id")) |
           json_object_set(answer, "status", json_object_get(answer, "state")) |
           json_object_set_new(answer, "created",
                               json_is_integer(ms) ? json_string(created) : json_null()) |
           (tenant ? json_object_set(answer, "tenant", tenant) : 0) |
           (labels ? json_object_set(answer, "labels", labels) : 0);
}

json_t *sandbox_answer(struct hutch_sandbox *sandbox, struct hutch_error *err)
{
    server_autofree char *text = NULL;
    if (hutch_sandbox_to_json(sandbox, &text, err) < 0)
        return NULL;
    json_t *answer = json_loads(text, 0, NULL);
    if (answer && add_known_names(answer) == 0)
        return answer;
    json_decref(answer);
    (void)server_fail_nomem(err);
    return NULL;
}

/* ---- in a list ------------------------------------------------------------------------------- */

static json_t *milliseconds(uint64_t time_us)
{
    return time_us ? json_integer((json_int_t)(time_us / 1000)) : json_null();
}

static json_t *summary_of(const struct hutch_sandbox_info *info)
{
    return json_pack("{s:s,s:s,s:s,s:s?,s:o,s:o,s:o,s:s}", "name", info->name, "id", info->id,
                     "state", info->state, "reason", info->reason[0] ? info->reason : NULL,
                     "created_ms", milliseconds(info->created_us), "started_ms",
                     milliseconds(info->started_us), "ended_ms", milliseconds(info->ended_us),
                     "writable_layer", info->on_disk ? "disk" : "memory");
}

static json_t *spec_as_json(const struct hutch_spec *spec, struct hutch_error *err)
{
    server_autofree char *text = NULL;
    return hutch_spec_to_json(spec, &text, err) < 0 ? NULL : json_loads(text, 0, NULL);
}

static json_t *read_spec(const struct hutch_sandbox *sandbox, struct hutch_error *err)
{
    struct hutch_spec *spec = NULL;
    if (hutch_sandbox_spec(sandbox, &spec, err) < 0)
        return NULL;
    json_t *json = spec_as_json(spec, err);
    hutch_spec_free(spec);
    return json;
}

/* All that is written down; nobody is asked. spec: NULL where it is to be read. */
static json_t *tell(const struct hutch_sandbox *sandbox, const struct hutch_spec *spec,
                    bool has_spec, struct hutch_error *err)
{
    struct hutch_sandbox_info info = {0};
    if (hutch_sandbox_info(sandbox, &info, err) < 0)
        return NULL;
    json_t *answer = summary_of(&info);
    int failed = json_object_set_new(answer, "spec",
                                     spec ? spec_as_json(spec, err) : read_spec(sandbox, err));
    if (!failed && answer)
        failed = add_known_names(answer) | (has_spec ? 0 : json_object_del(answer, "spec"));
    if (!failed && answer)
        return answer;
    json_decref(answer);
    if (!err->code)
        (void)server_fail_nomem(err);
    return NULL;
}

json_t *sandbox_summary(struct hutch_sandbox *sandbox, struct hutch_error *err)
{
    return tell(sandbox, NULL, false, err);
}

static void reply(struct api_call *call, int status, json_t *answer, const struct hutch_error *err)
{
    if (answer)
        api_reply(call, status, answer);
    else
        api_fail(call, err);
}

void sandbox_reply_made(struct api_call *call, const struct hutch_sandbox *sandbox,
                        const struct hutch_spec *spec)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    reply(call, 201, tell(sandbox, spec, true, &err), &err);
}

void sandbox_reply(struct api_call *call, int status, struct hutch_sandbox *sandbox)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    json_t *answer = sandbox_answer(sandbox, &err);
    hutch_sandbox_free(sandbox);
    reply(call, status, answer, &err);
}
