/* SPDX-License-Identifier: Apache-2.0 */
/* What has gone out of a sandbox and what has not: once, or as it happens. */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "server/events_out.h"
#include "server/request.h"
#include "server/sandboxes.h"
#include "server/util.h"

#define BETWEEN_LOOKS_MS 200

static uint64_t connections_to(const struct hutch_egress *egress,
                               const struct hutch_egress_host *host)
{
    for (size_t i = 0; i < egress->host_count; i++)
        if (egress->hosts[i].port == host->port && !strcmp(egress->hosts[i].name, host->name))
            return egress->hosts[i].connections;
    return 0;
}

static int tell(struct events_out *out, const char *event, const char *name, uint16_t port,
                const char *why, uint64_t times, uint64_t time_us)
{
    char time[SANDBOX_TIME_BYTES];
    sandbox_time(time_us, time);
    json_t *object = json_pack("{s:s,s:s,s:s,s:i,s:s?,s:I}", "event", event, "time", time, "name",
                               name, "port", (int)port, "why", why, "times", (json_int_t)times);
    server_autofree char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    return text ? events_object(out, event, NULL, text) : -1;
}

static int tell_hosts(struct events_out *out, const struct hutch_egress *before,
                      const struct hutch_egress *now)
{
    for (size_t i = 0; i < now->host_count; i++) {
        const struct hutch_egress_host *host = &now->hosts[i];
        uint64_t old = connections_to(before, host);
        if (host->connections > old && tell(out, "reached", host->name, host->port, NULL,
                                            host->connections - old, server_time_us()) < 0)
            return -1;
    }
    return 0;
}

static uint64_t times_of(const struct hutch_egress *egress, uint64_t number)
{
    for (size_t i = 0; i < egress->denial_count; i++)
        if (egress->denials[i].number == number)
            return egress->denials[i].times;
    return 0;
}

/* Numbers grow, and the last row that was seen may have grown in itself. */
static int tell_denials(struct events_out *out, const struct hutch_egress *before,
                        const struct hutch_egress *now)
{
    uint64_t oldest = before->denial_count ? before->denials[0].number : 0;
    for (size_t i = 0; i < now->denial_count; i++) {
        const struct hutch_egress_denial *denial = &now->denials[i];
        uint64_t seen = times_of(before, denial->number);
        if (denial->number >= oldest && denial->times > seen &&
            tell(out, "denied", denial->name, denial->port, denial->why, denial->times - seen,
                 denial->time_us) < 0)
            return -1;
    }
    return 0;
}

static bool is_alive(struct hutch_sandbox *sandbox)
{
    struct hutch_sandbox_info info = {0};
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    return hutch_sandbox_info(sandbox, &info, &ignored) == 0 && !info.ended_us;
}

/* One more look after its end: the last moment counts too. Frees before. */
static void follow(struct api_call *call, struct hutch_sandbox *sandbox,
                   struct hutch_egress *before, struct events_out *out)
{
    struct pollfd gone = {api_gone_fd(call), POLLIN, 0};
    uint64_t quiet_ms = 0;
    for (bool goes_on = true; goes_on && poll(&gone, 1, BETWEEN_LOOKS_MS) == 0;) {
        struct hutch_egress *now = NULL;
        struct hutch_error ignored = HUTCH_ERROR_INIT;
        goes_on = is_alive(sandbox);
        if (hutch_sandbox_egress(sandbox, &now, &ignored) < 0)
            break; /* it has been removed */
        quiet_ms += BETWEEN_LOOKS_MS;
        if (tell_hosts(out, before, now) < 0 || tell_denials(out, before, now) < 0 ||
            (quiet_ms >= EVENTS_QUIET_MS && events_quiet(out) < 0))
            goes_on = false;
        quiet_ms = quiet_ms >= EVENTS_QUIET_MS ? 0 : quiet_ms;
        hutch_egress_free(before);
        before = now;
    }
    hutch_egress_free(before);
}

static void answer_call(struct api_call *call, struct hutch_sandbox *sandbox)
{
    struct hutch_egress *egress = NULL;
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct events_out out;
    char *text = NULL;
    enum events_form form = events_form_of(call);
    bool follows = api_query_flag(call, "follow");
    if (form == EVENTS_NONE && follows)
        form = EVENTS_NDJSON;
    if (request_check_stream(call, &err) < 0 || hutch_sandbox_egress(sandbox, &egress, &err) < 0 ||
        hutch_egress_to_json(egress, &text, &err) < 0) {
        api_fail(call, &err);
    } else if (form == EVENTS_NONE) {
        api_reply_json_text(call, 200, text);
        text = NULL;
    } else if (events_begin(call, form, &out) == 0 &&
               events_object(&out, "egress", NULL, text) == 0 && follows) {
        follow(call, sandbox, egress, &out);
        egress = NULL;
    }
    hutch_egress_free(egress);
    free(text);
}

void handle_egress(struct api_call *call)
{
    struct hutch_sandbox *sandbox = NULL;
    if (api_sandbox(call, &sandbox) < 0)
        return;
    answer_call(call, sandbox);
    hutch_sandbox_free(sandbox);
}
