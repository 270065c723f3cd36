/* SPDX-License-Identifier: Apache-2.0 */
/* What a sandbox uses: once, or again and again. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "server/events_out.h"
#include "server/request.h"
#include "server/sandboxes.h"
#include "server/util.h"

#define USUAL_INTERVAL_MS 1000
#define SHORTEST_INTERVAL_MS 100
#define LONGEST_INTERVAL_MS 3600000

static json_t *figure(uint64_t value)
{
    return value == HUTCH_STATS_UNKNOWN ? json_null() : json_integer((json_int_t)value);
}

/* Share of one processor since the look before. */
static json_t *cpu_percent(const struct hutch_stats *before, const struct hutch_stats *now)
{
    if (!before->time_us || now->time_us <= before->time_us || now->cpu_us == HUTCH_STATS_UNKNOWN ||
        now->cpu_us < before->cpu_us)
        return json_null();
    double share =
        (double)(now->cpu_us - before->cpu_us) * 100 / (double)(now->time_us - before->time_us);
    return json_real((double)(uint64_t)(share * 10 + 0.5) / 10);
}

static json_t *stats_answer(const struct hutch_sandbox_info *info, const struct hutch_stats *before,
                            const struct hutch_stats *now)
{
    uint64_t milli = now->cpus_limit_milli;
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {
        {"time_us", now->time_us},
        {"cpu_us", now->cpu_us},
        {"memory_bytes", now->memory_bytes},
        {"memory_peak_bytes", now->memory_peak_bytes},
        {"memory_limit_bytes", now->memory_limit_bytes},
        {"pids", now->pids},
        {"pids_peak", now->pids_peak},
        {"pids_limit", now->pids_limit},
        {"disk_bytes", now->disk_bytes},
        {"disk_limit_bytes", now->disk_limit_bytes},
        {"oom_kills", now->oom_kills},
        {"running", now->running},
    };
    json_t *answer =
        json_pack("{s:s,s:s,s:s,s:o,s:o}", "id", info->id, "name", info->name, "state", info->state,
                  "cpu_percent", cpu_percent(before, now), "cpus_limit",
                  milli == HUTCH_STATS_UNKNOWN ? json_null() : json_real((double)milli / 1000));
    for (size_t i = 0; i < SERVER_COUNT(rows); i++)
        (void)json_object_set_new(answer, rows[i].name, figure(rows[i].value));
    return answer;
}

/* *before becomes what was seen now. */
static json_t *look(struct hutch_sandbox *sandbox, struct hutch_stats *before,
                    struct hutch_error *err)
{
    struct hutch_stats now = {0};
    struct hutch_sandbox_info info = {0};
    if (hutch_sandbox_stats(sandbox, &now, err) < 0 || hutch_sandbox_info(sandbox, &info, err) < 0)
        return NULL;
    json_t *answer = stats_answer(&info, before, &now);
    *before = now;
    if (!answer)
        (void)server_fail_nomem(err);
    return answer;
}

static bool tell(struct events_out *out, json_t *answer)
{
    server_autofree char *text = json_dumps(answer, JSON_COMPACT);
    json_decref(answer);
    return text && events_object(out, "stats", NULL, text) == 0;
}

/* Until the client or the sandbox is gone. One that does not answer for once is asked again. */
static void follow(struct api_call *call, struct hutch_sandbox *sandbox, uint64_t interval_ms,
                   struct hutch_stats *before, struct events_out *out)
{
    struct pollfd gone = {api_gone_fd(call), POLLIN, 0};
    uint64_t quiet_ms = 0;
    while (poll(&gone, 1, (int)(interval_ms < EVENTS_QUIET_MS ? interval_ms : EVENTS_QUIET_MS)) ==
           0) {
        struct hutch_error err = HUTCH_ERROR_INIT;
        quiet_ms += EVENTS_QUIET_MS;
        if (interval_ms > EVENTS_QUIET_MS && quiet_ms < interval_ms) {
            if (events_quiet(out) < 0)
                return;
            continue;
        }
        quiet_ms = 0;
        json_t *answer = look(sandbox, before, &err);
        if (!answer && err.os_errno == ETIMEDOUT) {
            if (events_quiet(out) < 0)
                return;
            continue;
        }
        if (!answer) {
            (void)events_error(out, &err); /* it has ended */
            return;
        }
        if (!tell(out, answer))
            return;
    }
}

static int read_interval(const struct api_call *call, uint64_t *ret_ms, struct hutch_error *err)
{
    const char *given = api_query(call, "interval");
    uint64_t ms = USUAL_INTERVAL_MS;
    if (given && hutch_duration_parse(given, &ms, err) < 0)
        return -(int)err->code;
    if (ms < SHORTEST_INTERVAL_MS || ms > LONGEST_INTERVAL_MS)
        return server_fail(err, HUTCH_E_INVALID, "interval: it is from 100ms to 1h");
    *ret_ms = ms;
    return 0;
}

static void answer_call(struct api_call *call, struct hutch_sandbox *sandbox)
{
    struct hutch_stats before = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct events_out out;
    uint64_t interval_ms = 0;
    enum events_form form = events_form_of(call);
    json_t *answer = NULL;
    if (request_check_stream(call, &err) == 0 && read_interval(call, &interval_ms, &err) == 0)
        answer = look(sandbox, &before, &err);
    if (!answer)
        api_fail(call, &err);
    else if (form == EVENTS_NONE)
        api_reply(call, 200, answer);
    else if (events_begin(call, form, &out) < 0)
        json_decref(answer);
    else if (tell(&out, answer))
        follow(call, sandbox, interval_ms, &before, &out);
}

void handle_stats(struct api_call *call)
{
    struct hutch_sandbox *sandbox = NULL;
    if (api_sandbox(call, &sandbox) < 0)
        return;
    answer_call(call, sandbox);
    hutch_sandbox_free(sandbox);
}
