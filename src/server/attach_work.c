/* SPDX-License-Identifier: Apache-2.0 */
/* The jobs of a WebSocket to a session. */
#include <string.h>

#include "server/attach.h"

/* Is it there, and may the client see it? */
void attach_find(void *argument)
{
    struct attach *attach = argument;
    attach->is_found = follow_start(attach->call, &attach->offset) == 0 &&
                       api_sandbox(attach->call, &attach->reading) == 0 &&
                       session_check(attach->call, attach->reading, attach->id) == 0 &&
                       api_sandbox(attach->call, &attach->writing) == 0;
    attach_job_done(attach, attach_found);
}

static void send_json(struct attach *attach, const char *type, json_t *content)
{
    json_t *whole = json_pack("{s:s,s:o}", "type", type, type, content);
    server_autofree char *text = whole ? json_dumps(whole, JSON_COMPACT) : NULL;
    json_decref(whole);
    if (text)
        (void)attach_send(attach, true, text, strlen(text));
}

static void send_error(struct attach *attach, const struct hutch_error *err)
{
    send_json(attach, "error", events_problem(attach->call, err));
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool send_part(struct attach *attach, enum hutch_stream stream, uint64_t end,
                      const char *data, size_t length)
{
    server_autofree char *frame = malloc(9 + length);
    if (!frame)
        return false;
    frame[0] = (char)stream;
    for (size_t i = 0; i < 8; i++)
        frame[1 + i] = (char)(end >> (56 - 8 * i) & 0xff);
    memcpy(frame + 9, data, length);
    return attach_send(attach, false, frame, 9 + length);
}

static int send_piece(void *userdata, const struct hutch_log_piece *piece)
{
    for (size_t done = 0; done < piece->length;) {
        size_t left = piece->length - done;
        size_t part = left < ATTACH_PIECE_BYTES ? left : ATTACH_PIECE_BYTES;
        if (!send_part(userdata, piece->stream, piece->offset + done + part, piece->data + done,
                       part))
            return 1;
        done += part;
    }
    return 0;
}

static void send_result(struct attach *attach, const struct hutch_result *result)
{
    server_autofree char *text = events_result_text(result);
    json_t *content = text ? json_loads(text, 0, NULL) : NULL;
    if (content)
        send_json(attach, "result", content);
    attach_close(attach, 1000, "it has ended");
}

void attach_read(void *argument)
{
    struct attach *attach = argument;
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_result *result = NULL;
    struct hutch_log_options options = HUTCH_LOG_OPTIONS_INIT;
    options.exec_id = attach->id;
    options.offset = attach->offset;
    options.follow = true;
    options.cancel_fd = attach->stop;
    int status = hutch_sandbox_logs(attach->reading, &options, send_piece, attach, &err);
    if (status == 0)
        status =
            hutch_sandbox_wait_or_cancel(attach->reading, attach->id, attach->stop, &result, &err);
    if (status < 0) {
        send_error(attach, &err);
        attach_close(attach, 1011, "see the error before");
    } else if (result) {
        send_result(attach, result);
    }
    hutch_result_free(result);
    attach_job_done(attach, attach_done);
}

/* ---- writing --------------------------------------------------------------------------------- */

static int act(struct attach *attach, const json_t *order, struct hutch_error *err)
{
    const char *type = json_string_value(json_object_get(order, "type"));
    json_int_t rows = json_integer_value(json_object_get(order, "rows"));
    json_int_t cols = json_integer_value(json_object_get(order, "cols"));
    int number = signal_number(json_object_get(order, "signal"));
    bool is_size = rows > 0 && cols > 0 && rows <= UINT16_MAX && cols <= UINT16_MAX;
    if (type && !strcmp(type, "resize") && is_size)
        return hutch_sandbox_resize(attach->writing, attach->id, (uint16_t)rows, (uint16_t)cols,
                                    err);
    if (type && !strcmp(type, "signal") && number)
        return hutch_sandbox_signal(attach->writing, attach->id, number, err);
    if (type && !strcmp(type, "close_stdin"))
        return hutch_sandbox_end_input(attach->writing, attach->id, err);
    return server_fail(err, HUTCH_E_INVALID,
                       "that is no message of hutch.v1; write {\"type\":\"resize\",...}, "
                       "{\"type\":\"signal\",...} or {\"type\":\"close_stdin\"}");
}

static int deliver(struct attach *attach, const struct attach_message *message,
                   struct hutch_error *err)
{
    if (!attach->may_write)
        return server_fail(err, HUTCH_E_INVALID,
                           "this token may only read; one with the scope write may be used to "
                           "write to a session");
    if (!message->is_text)
        return hutch_sandbox_input(attach->writing, attach->id, message->data, message->length,
                                   attach->stop, err);
    json_t *order = json_loadb(message->data, message->length, JSON_REJECT_DUPLICATES, NULL);
    int status = act(attach, order, err);
    json_decref(order);
    return status;
}

/* A command that does not read, or not any more, is no reason to hear no more of it: that is told
 * once. What makes no sense ends the WebSocket. */
static void complain(struct attach *attach, const struct hutch_error *err)
{
    bool is_clients = err->code == HUTCH_E_INVALID;
    if (attach->has_complained && !is_clients)
        return;
    attach->has_complained = true;
    send_error(attach, err);
    if (is_clients)
        attach_close(attach, 1008, "see the error before");
}

void attach_write(void *argument)
{
    struct attach *attach = argument;
    struct attach_message *message;
    while ((message = attach_next(attach))) {
        struct hutch_error err = HUTCH_ERROR_INIT;
        if (deliver(attach, message, &err) < 0)
            complain(attach, &err);
        free(message);
    }
    attach_job_done(attach, attach_done);
}
