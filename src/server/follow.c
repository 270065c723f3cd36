/* SPDX-License-Identifier: Apache-2.0 */
/* Following a recorded command: its log is read, not the command, so that whoever comes back goes
 * on where it was, whatever happened to its connection or to the daemon. */
#include <string.h>

#include "server/streams.h"

int follow_start(struct api_call *call, uint64_t *ret_offset)
{
    const char *last = api_header(call, "last-event-id");
    *ret_offset = api_query_number(call, "from", 0);
    /* a browser that comes back asks for the same address as before */
    if (!last || !*last || server_number(last, UINT64_MAX, ret_offset))
        return 0;
    api_problem(call, 400, "invalid", "Last-Event-ID: write the id of an event of this stream");
    return -1;
}

static int tell_piece(void *userdata, const struct hutch_log_piece *piece)
{
    struct events_out *out = userdata;
    bool is_quiet = !piece->length && !piece->lost_bytes;
    int status = is_quiet ? events_quiet(out) : events_piece(out, piece);
    return status < 0 ? 1 : 0;
}

void follow_command(struct events_out *out, struct hutch_sandbox *sandbox, const char *id,
                    uint64_t offset)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_result *result = NULL;
    struct hutch_log_options options = HUTCH_LOG_OPTIONS_INIT;
    options.exec_id = id;
    options.offset = offset;
    options.follow = true;
    options.cancel_fd = api_gone_fd(out->call);
    options.quiet_ms = EVENTS_QUIET_MS;
    out->offset = offset;
    int status = hutch_sandbox_logs(sandbox, &options, tell_piece, out, &err);
    if (status == 0)
        status = hutch_sandbox_wait_or_cancel(sandbox, id, options.cancel_fd, &result, &err);
    if (status < 0)
        (void)events_error(out, &err);
    else if (result)
        (void)events_result(out, result);
    hutch_result_free(result);
}
