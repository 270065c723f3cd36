/* SPDX-License-Identifier: Apache-2.0 */
/* What a handler answers. In a worker's thread it only leaves the answer in its call; the loop
 * sends it when the call comes back. The head of a stream goes out at once. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "server/call.h"
#include "server/idempotency.h"
#include "server/problem.h"
#include "server/util.h"

static bool is_first(const struct api_call *call)
{
    return call->answer == CALL_UNANSWERED;
}

static void settle(struct api_call *call, int status, const char *type, char *content,
                   size_t length)
{
    if (!is_first(call)) {
        free(content);
        return;
    }
    call->answer = CALL_ANSWERED;
    call->status = status;
    call->content = content;
    call->content_length = length;
    call->content_type = type ? strdup(type) : NULL;
}

void api_reply(struct api_call *call, int status, json_t *body)
{
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    bool is_lost = body && !text;
    json_decref(body);
    if (is_lost)
        api_problem(call, 503, "no_memory", "out of memory");
    else
        api_reply_json_text(call, status, text);
}

void api_reply_json_text(struct api_call *call, int status, char *json)
{
    settle(call, status, json ? "application/json" : NULL, json, json ? strlen(json) : 0);
}

void api_reply_bytes(struct api_call *call, int status, const char *type, const void *data,
                     size_t length)
{
    char *copy = malloc(length + 1);
    if (!copy) {
        api_problem(call, 503, "no_memory", "out of memory");
        return;
    }
    if (length)
        memcpy(copy, data, length);
    settle(call, status, type, copy, length);
}

void api_add_header(struct api_call *call, const char *name, const char *value)
{
    if (call->header_count >= CALL_HEADERS || !is_first(call))
        return;
    char *own_name = strdup(name), *own_value = strdup(value);
    if (own_name && own_value) {
        call->headers[call->header_count++] = (struct http_header){own_name, own_value};
        return;
    }
    free(own_name);
    free(own_value);
}

void api_fail(struct api_call *call, const struct hutch_error *err)
{
    int status = hutch_code_http_status(err->code);
    if (status == 503)
        api_add_header(call, "Retry-After", "1");
    api_problem(call, status, hutch_code_name(err->code), "%s", err->msg);
}

void api_problem(struct api_call *call, int status, const char *code, const char *format, ...)
{
    char detail[1024];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(detail, sizeof(detail), format, args);
    va_end(args);
    char *text = problem_text(status, code, detail, http_request_id(call->exchange));
    settle(call, status, PROBLEM_TYPE, text, text ? strlen(text) : 0);
}

/* ---- streams --------------------------------------------------------------------------------- */

/* The call comes back to the loop after this and not before: its exchange is there. */
struct stream {
    struct http_exchange *exchange;
    int status;
    struct http_header headers[CALL_HEADERS + 2]; /* the texts are own */
    uint64_t length;
    int fd;
};

static void stream_free(struct stream *stream)
{
    for (struct http_header *header = stream->headers; header->name; header++) {
        free((char *)(uintptr_t)header->name);
        free((char *)(uintptr_t)header->value);
    }
    if (stream->fd >= 0)
        (void)close(stream->fd);
    free(stream);
}

static void send_stream(void *argument)
{
    struct stream *stream = argument;
    http_answer_stream(stream->exchange, stream->status, stream->headers, stream->length,
                       stream->fd);
    stream->fd = SERVER_NO_FD;
    stream_free(stream);
}

static void fail_stream(struct api_call *call, const char *what)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    (void)server_fail_errno(&err, "%s", what);
    api_fail(call, &err);
}

/* An answer that goes on is counted among those, no longer among the requests. */
static bool take_room(struct api_call *call)
{
    struct server *server = call->server;
    if (atomic_fetch_add(&server->streams, 1) >= server->limits.streams) {
        (void)atomic_fetch_sub(&server->streams, 1);
        api_add_header(call, "Retry-After", "5");
        api_problem(call, 503, "unavailable",
                    "there are %llu streams open, as many as this daemon may have; close one, or "
                    "start it with --limit streams=N",
                    (unsigned long long)server->limits.streams);
        return false;
    }
    (void)atomic_fetch_sub(&server->requests, 1);
    call->is_stream = true;
    return true;
}

static struct stream *stream_new(struct api_call *call, int status, const char *type,
                                 uint64_t length)
{
    struct stream *stream = calloc(1, sizeof(*stream));
    if (!stream)
        return NULL;
    *stream = (struct stream){call->exchange, status, {{0}}, length, SERVER_NO_FD};
    api_add_header(call, "Content-Type", type);
    memcpy(stream->headers, call->headers, sizeof(stream->headers));
    memset(call->headers, 0, sizeof(call->headers));
    call->header_count = 0;
    return stream;
}

int api_stream(struct api_call *call, int status, const char *type, uint64_t length, int *ret_fd)
{
    int ends[2] = {SERVER_NO_FD, SERVER_NO_FD};
    if (!is_first(call))
        return -1;
    if (call->idempotent) {
        api_problem(call, 400, "invalid",
                    "an answer that is a stream cannot be kept to be given again; leave out "
                    "Idempotency-Key, or ask for an answer in one piece");
        return -1;
    }
    if (!take_room(call))
        return -1;
    struct stream *stream = stream_new(call, status, type, length);
    if (!stream || pipe2(ends, O_CLOEXEC) < 0) {
        if (stream)
            stream_free(stream);
        fail_stream(call, "make a pipe for the answer");
        return -1;
    }
    stream->fd = ends[0];
    call->stream_fd = ends[1];
    call->answer = CALL_STREAMED;
    call->status = status;
    http_post(call->server->http, send_stream, stream);
    *ret_fd = ends[1];
    return 0;
}

void api_cut(struct api_call *call)
{
    call->is_cut = true;
}
