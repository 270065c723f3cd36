/* SPDX-License-Identifier: Apache-2.0 */
/* What a sandbox's own command has said, or a session's: as it was, or as events. */
#include <string.h>
#include <time.h>

#include "http/http.h"
#include "server/streams.h"

struct raw {
    int fd;
};

static int write_piece(void *userdata, const struct hutch_log_piece *piece)
{
    const struct raw *raw = userdata;
    return server_write_all(raw->fd, piece->data, piece->length) < 0 ? 1 : 0;
}

static int tell_piece(void *userdata, const struct hutch_log_piece *piece)
{
    bool is_quiet = !piece->length && !piece->lost_bytes;
    int status = is_quiet ? events_quiet(userdata) : events_piece(userdata, piece);
    return status < 0 ? 1 : 0;
}

/* ---- what is asked for ----------------------------------------------------------------------- */

static int read_stream(struct api_call *call, unsigned *ret_streams)
{
    static const char *const names[] = {"", "stdout", "stderr"};
    const char *asked = api_query(call, "stream");
    for (unsigned i = 1; asked && i < SERVER_COUNT(names); i++)
        if (!strcmp(asked, names[i])) {
            *ret_streams = i;
            return 0;
        }
    if (!asked)
        return 0;
    api_problem(call, 400, "invalid", "stream: write stdout or stderr, or leave it out for both");
    return -1;
}

/* "10m": what was said in the last ten minutes. */
static int read_since(struct api_call *call, uint64_t *ret_us)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    const char *text = api_query(call, "since");
    uint64_t ago_ms = 0, now_us = server_time_us();
    if (!text)
        return 0;
    if (hutch_duration_parse(text, &ago_ms, &err) < 0) {
        api_problem(call, 400, "invalid", "since: %s", err.msg);
        return -1;
    }
    *ret_us = ago_ms < now_us / 1000 ? now_us - ago_ms * 1000 : 1;
    return 0;
}

static int read_options(struct api_call *call, struct hutch_log_options *ret_options)
{
    struct hutch_log_options options = HUTCH_LOG_OPTIONS_INIT;
    options.exec_id = api_query(call, "exec");
    options.tail = api_query_number(call, "tail", UINT64_MAX);
    options.follow = api_query_flag(call, "follow");
    options.cancel_fd = api_gone_fd(call);
    options.quiet_ms = EVENTS_QUIET_MS;
    if (read_stream(call, &options.streams) < 0 || read_since(call, &options.since_us) < 0 ||
        follow_start(call, &options.offset) < 0)
        return -1;
    *ret_options = options;
    return 0;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void answer_events(struct api_call *call, struct hutch_sandbox *sandbox,
                          const struct hutch_log_options *options, enum events_form form)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct events_out out;
    if (events_begin(call, form, &out) < 0)
        return;
    out.offset = options->offset;
    int status = hutch_sandbox_logs(sandbox, options, tell_piece, &out, &err);
    if (status < 0)
        (void)events_error(&out, &err);
    else if (status == 0)
        (void)events_end(&out);
}

static void answer_bytes(struct api_call *call, struct hutch_sandbox *sandbox,
                         const struct hutch_log_options *options)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct raw raw = {SERVER_NO_FD};
    if (api_stream(call, 200, "text/plain", HTTP_LENGTH_UNKNOWN, &raw.fd) < 0)
        return;
    if (hutch_sandbox_logs(sandbox, options, write_piece, &raw, &err) < 0)
        api_cut(call);
}

void handle_logs(struct api_call *call)
{
    server_autosandbox struct hutch_sandbox *sandbox = NULL;
    struct hutch_log_options options;
    enum events_form form = events_form_of(call);
    if (read_options(call, &options) < 0 || api_sandbox(call, &sandbox) < 0 ||
        (options.exec_id && session_check(call, sandbox, options.exec_id) < 0))
        return;
    if (form == EVENTS_NONE)
        answer_bytes(call, sandbox, &options);
    else
        answer_events(call, sandbox, &options, form);
}
