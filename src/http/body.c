/* SPDX-License-Identifier: Apache-2.0 */
/* The body of a request: whole into memory up to a bound, or into a pipe as fast as that is
 * emptied. What cannot go on is not taken, and nothing more is read from the client. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "http/connection.h"
#include "util/error.h"
#include "util/own.h"

bool body_is_wanted(const struct http_exchange *exchange)
{
    enum body_sink sink = exchange->body.sink;
    return sink == BODY_TO_MEMORY || sink == BODY_TO_PIPE || sink == BODY_TO_NOTHING;
}

static void close_pipe(struct body *body)
{
    if (body->pipe_fd < 0)
        return;
    (void)event_del(&body->pipe_room);
    body->waits_for_room = false;
    hutch_fd_close(&body->pipe_fd);
}

/* Tells who waits; data NULL: it did not come. */
static void deliver(struct http_exchange *exchange, bool is_whole)
{
    http_body_fn on_body = HUTCH_TAKE_PTR(exchange->body.on_body);
    struct buffer memory = exchange->body.memory;
    exchange->body.memory = (struct buffer){0};
    close_pipe(&exchange->body);
    if (on_body)
        on_body(exchange, is_whole ? buffer_at(&memory) : NULL, is_whole ? memory.length : 0);
    buffer_done(&memory);
}

void body_stop(struct http_exchange *exchange)
{
    if (exchange->body.sink != BODY_DONE)
        exchange->body.sink = BODY_LOST;
}

void body_lose(struct http_exchange *exchange)
{
    body_stop(exchange);
    deliver(exchange, false);
}

static void complete(struct http_exchange *exchange)
{
    exchange->body.sink = BODY_DONE;
    atomic_store(&exchange->body_is_whole, true);
    deliver(exchange, true);
}

/* ---- where it goes ---- */

static size_t to_memory(struct http_exchange *exchange, const char *data, size_t length)
{
    struct body *body = &exchange->body;
    if (length > body->most_bytes - body->memory.length)
        exchange_refuse(exchange, 413, "The body of the request is too long.");
    else if (!buffer_add(&body->memory, data, length))
        exchange_refuse(exchange, 503, "The server is out of memory.");
    return length;
}

static size_t to_pipe(struct http_exchange *exchange, const char *data, size_t length)
{
    struct body *body = &exchange->body;
    ssize_t count = write(body->pipe_fd, data, length);
    if (count >= 0)
        return (size_t)count;
    if (errno == EAGAIN) {
        body->waits_for_room = true;
        (void)event_add(&body->pipe_room, NULL);
        return 0;
    }
    body_lose(exchange); /* who read it has had enough */
    return 0;
}

static size_t put(struct http_exchange *exchange, const char *data, size_t length)
{
    if (exchange->body.sink == BODY_TO_MEMORY)
        return to_memory(exchange, data, length);
    return exchange->body.sink == BODY_TO_PIPE ? to_pipe(exchange, data, length) : length;
}

/* ---- what comes ---- */

static size_t feed_known(struct http_exchange *exchange, const char *data, size_t length)
{
    struct body *body = &exchange->body;
    if (length > body->left)
        length = (size_t)body->left;
    size_t used = put(exchange, data, length);
    body->left -= used;
    if (!body->left && body_is_wanted(exchange))
        complete(exchange);
    return used;
}

/* A chunk that will not fit need not come first. */
static bool chunk_is_too_long(const struct body *body)
{
    return body->sink == BODY_TO_MEMORY && body->chunked.state == CHUNKED_DATA &&
           body->chunked.left > body->most_bytes - body->memory.length;
}

static size_t feed_chunked(struct http_exchange *exchange, const char *data, size_t length)
{
    struct chunked *chunked = &exchange->body.chunked;
    size_t used = chunked_skip(chunked, data, length);
    if (chunked->state == CHUNKED_WRONG) {
        exchange_refuse(exchange, 400, "The chunks of the request's body are not in order.");
        return length;
    }
    if (chunk_is_too_long(&exchange->body)) {
        exchange_refuse(exchange, 413, "The body of the request is too long.");
        return length;
    }
    if (chunked->state == CHUNKED_END) {
        complete(exchange);
        return used;
    }
    size_t most = length - used;
    if (chunked->state != CHUNKED_DATA || !most)
        return used;
    size_t taken = put(exchange, data + used, most < chunked->left ? most : (size_t)chunked->left);
    if (taken)
        chunked_take(chunked, taken);
    return used + taken;
}

/* The exchange is held: with its last byte, whoever waits for it may answer, and it is over. */
size_t body_feed(struct connection *connection, const char *data, size_t length)
{
    struct http_exchange *exchange = connection->exchange;
    size_t used = 0;
    http_hold(exchange);
    while (used < length && connection->exchange == exchange && body_is_wanted(exchange) &&
           !exchange->body.waits_for_room)
        used += exchange->head.length == HTTP_LENGTH_UNKNOWN
                    ? feed_chunked(exchange, data + used, length - used)
                    : feed_known(exchange, data + used, length - used);
    http_release(exchange);
    return used;
}

static void on_room(evutil_socket_t fd, short events, void *userdata)
{
    struct http_exchange *exchange = userdata;
    struct connection *connection = exchange->connection;
    (void)fd, (void)events;
    exchange->body.waits_for_room = false;
    connection_enter(connection);
    connection_go_on(connection);
    connection_leave(connection);
}

/* ---- asking for it ---- */

/* The client waits with it until somebody wants it. */
static void send_continue(struct http_exchange *exchange)
{
    static const char answer[] = "HTTP/1.1 100 Continue\r\n\r\n";
    const struct iovec part = {(void *)(uintptr_t)answer, sizeof(answer) - 1};
    if (exchange->head.wants_continue)
        connection_send(exchange->connection, &part, 1);
}

static void begin(struct http_exchange *exchange, enum body_sink sink)
{
    struct connection *connection = exchange->connection;
    connection_enter(connection);
    exchange->body.sink = sink;
    send_continue(exchange);
    connection_go_on(connection);
    connection_leave(connection);
}

void http_read_body(struct http_exchange *exchange, size_t most_bytes, http_body_fn on_body)
{
    struct body *body = &exchange->body;
    if (body->sink == BODY_DONE) {
        on_body(exchange, "", 0);
        return;
    }
    if (!exchange->connection || body->sink != BODY_NOT_ASKED_FOR) {
        on_body(exchange, NULL, 0);
        return;
    }
    body->on_body = on_body;
    body->most_bytes = most_bytes;
    if (body->left != HTTP_LENGTH_UNKNOWN && body->left > most_bytes)
        exchange_refuse(exchange, 413, "The body of the request is too long.");
    else
        begin(exchange, BODY_TO_MEMORY);
}

int http_pipe_body(struct http_exchange *exchange, int *ret_fd, struct hutch_error *err)
{
    int fds[2];
    struct body *body = &exchange->body;
    if (!exchange->connection && body->sink != BODY_DONE)
        return hutch_fail(err, HUTCH_E_UNAVAILABLE, 0, "the client is gone");
    if (pipe2(fds, O_CLOEXEC) < 0)
        return hutch_fail_errno(err, errno, "make a pipe for the body of a request");
    *ret_fd = fds[0];
    if (body->sink != BODY_NOT_ASKED_FOR) {
        hutch_fd_close(&fds[1]); /* an empty one */
        return 0;
    }
    (void)fcntl(fds[1], F_SETFL, O_NONBLOCK);
    body->pipe_fd = fds[1];
    (void)event_assign(&body->pipe_room, exchange->connection->server->base, fds[1], EV_WRITE,
                       on_room, exchange);
    begin(exchange, BODY_TO_PIPE);
    return 0;
}

bool http_body_is_whole(const struct http_exchange *exchange)
{
    return atomic_load(&exchange->body_is_whole);
}
