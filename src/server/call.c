/* SPDX-License-Identifier: Apache-2.0 */
#include "server/call.h"

#include <string.h>

#include "server/admission.h"
#include "server/body.h"
#include "server/host.h"
#include "server/idempotency.h"
#include "server/problem.h"
#include "server/util.h"
#include "server/workers.h"

struct api_call *call_new(struct server *server, struct http_exchange *exchange)
{
    struct api_call *call = calloc(1, sizeof(*call));
    if (!call)
        return NULL;
    call->server = server;
    call->exchange = exchange;
    call->body_fd = call->stream_fd = call->gone_fd = SERVER_NO_FD;
    call->started_us = server_clock_us();
    http_hold(exchange);
    (void)atomic_fetch_add(&server->requests, 1);
    return call;
}

static void free_texts(struct api_call *call)
{
    for (size_t i = 0; i < call->param_count; i++)
        free(call->params[i].value);
    for (size_t i = 0; i < call->query_count; i++)
        free(call->query[i]);
    for (size_t i = 0; i < call->header_count; i++) {
        free((char *)(uintptr_t)call->headers[i].name);
        free((char *)(uintptr_t)call->headers[i].value);
    }
    free(call->query);
    free(call->text);
    free(call->content);
    free(call->content_type);
    json_decref(call->body);
}

void call_free(struct api_call *call)
{
    struct server *server = call->server;
    if (call->answer != CALL_UNANSWERED)
        metrics_answered(host_metrics(server->host), call->route, call->status,
                         server_clock_us() - call->started_us, call->is_stream);
    if (call->turn)
        admission_leave(server->admission, (enum admission_line)call->turn);
    (void)atomic_fetch_sub(call->is_stream ? &server->streams : &server->requests, 1);
    server_closep(&call->body_fd);
    server_closep(&call->stream_fd);
    free_texts(call);
    http_release(call->exchange);
    free(call);
}

static void send_answer(struct api_call *call)
{
    struct http_header headers[CALL_HEADERS + 2];
    memcpy(headers, call->headers, sizeof(headers));
    if (call->content_type)
        headers[call->header_count] = (struct http_header){"Content-Type", call->content_type};
    headers[call->header_count + (call->content_type ? 1 : 0)] = (struct http_header){0};
    http_answer(call->exchange, call->status, headers, call->content, call->content_length);
}

void call_finish(struct api_call *call)
{
    if (call->is_kept) {
        call->is_kept = false;
        return;
    }
    if (call->answer == CALL_UNANSWERED)
        api_problem(call, 500, "internal", "the request was not answered, which is a bug in hutch");
    if (call->answer == CALL_ANSWERED)
        send_answer(call);
    else if (call->is_cut)
        http_cut(call->exchange);
    call_free(call);
}

/* ---- WebSockets ------------------------------------------------------------------------------ */

/* An answer instead of a WebSocket is sent; the WebSocket itself was closed by its owner. */
static void end_websocket(struct api_call *call)
{
    if (call->answer == CALL_ANSWERED)
        send_answer(call);
    call_free(call);
}

void call_enter_websocket(struct api_call *call)
{
    (void)atomic_fetch_sub(&call->server->requests, 1);
    (void)atomic_fetch_add(&call->server->streams, 1);
    call->is_stream = true;
    call->is_entering = true;
    call->route->on_websocket(call);
    call->is_entering = false;
    if (call->has_ended) /* not: has an answer, which a worker may be about to give it */
        end_websocket(call);
}

void api_end(struct api_call *call)
{
    call->has_ended = true;
    if (!call->is_entering)
        end_websocket(call);
}

/* ---- the handler ----------------------------------------------------------------------------- */

static void finish_in_loop(void *argument)
{
    call_finish(argument);
}

/* The body is read here, not in the loop: a long one takes its time. */
static bool read_body(struct api_call *call)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    const struct api_field *fields = call->route->fields;
    if (!fields || call->route->flags & API_BODY_PIPE)
        return true;
    const char *text = call->text_length ? call->text : "{}";
    size_t length = call->text_length ? call->text_length : 2;
    if (body_parse(text, length, call->server->limits.json_depth, &call->body, &err) == 0 &&
        body_check(call->body, fields, &err) == 0)
        return true;
    api_fail(call, &err);
    return false;
}

static void handle(struct api_call *call)
{
    if (!read_body(call) || !idempotency_begin(call->server->idempotency, call))
        return;
    call->route->handle(call);
    idempotency_end(call->server->idempotency, call);
}

void api_keep(struct api_call *call)
{
    call->is_kept = true;
}

void api_let_go(struct api_call *call)
{
    http_post(call->server->http, finish_in_loop, call);
}

void api_afterwards(struct api_call *call, void (*fn)(void *argument), void *argument)
{
    call->afterwards = fn;
    call->left = argument;
}

static void handle_in_worker(void *argument)
{
    struct api_call *call = argument;
    handle(call);
    void (*afterwards)(void *argument) = call->afterwards;
    void *left = call->left;
    http_post(call->server->http, finish_in_loop, call); /* it is the loop's again */
    if (afterwards)
        afterwards(left);
}

void call_start(struct api_call *call)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    if (call->route->flags & API_INLINE) {
        handle(call);
        call_finish(call);
        return;
    }
    call->gone_fd = http_gone_fd(call->exchange);
    if (server_work(call->server, handle_in_worker, call, &err) < 0) {
        api_fail(call, &err);
        call_finish(call);
    }
}

int server_work(struct server *server, void (*fn)(void *argument), void *argument,
                struct hutch_error *err)
{
    return workers_do(server->workers, fn, argument, err);
}
