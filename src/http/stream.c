/* SPDX-License-Identifier: Apache-2.0 */
/* An answer that comes out of a pipe. No more than a piece of it is ever here: while the client
 * does not take that, the pipe is not read, and whoever writes into it waits. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "http/connection.h"
#include "util/own.h"

#define PIECES_OF_A_ROUND 16 /* then it is another connection's turn */

static void watch(struct stream *stream, bool wanted)
{
    if (stream->is_watched == wanted)
        return;
    if (!wanted)
        (void)event_del(&stream->readable);
    stream->is_watched = wanted && event_add(&stream->readable, NULL) == 0;
    if (wanted && !stream->is_watched)
        event_active(&stream->readable, EV_READ, 0); /* a file: it can be read always */
}

void stream_done(struct http_exchange *exchange)
{
    struct stream *stream = HUTCH_TAKE_PTR(exchange->stream);
    if (!stream)
        return;
    (void)event_del(&stream->readable);
    hutch_fd_close(&stream->fd);
    free(stream);
}

static void send_piece(struct http_exchange *exchange, char *data, size_t length)
{
    struct stream *stream = exchange->stream;
    char size[20];
    struct iovec parts[3] = {{size, 0}, {data, length}, {(void *)(uintptr_t) "\r\n", 2}};
    exchange->bytes_out += length;
    if (!stream->is_chunked) {
        connection_send(exchange->connection, parts + 1, 1);
        return;
    }
    parts[0].iov_len = (size_t)snprintf(size, sizeof(size), "%zx\r\n", length);
    connection_send(exchange->connection, parts, 3);
}

/* Its end: as it was promised, or the connection's too. */
static void end_stream(struct http_exchange *exchange, bool is_whole)
{
    struct connection *connection = exchange->connection;
    const struct iovec last = {(void *)(uintptr_t) "0\r\n\r\n", 5};
    bool is_chunked = exchange->stream->is_chunked;
    if (!is_whole) {
        connection->closes = true;
        exchange->keep_alive = false;
    } else if (is_chunked) {
        connection_send(connection, &last, 1);
    }
    if (connection->is_over)
        return;
    stream_done(exchange);
    connection_answered(connection);
}

/* One piece. False: not now, or no more. */
static bool pump_once(struct http_exchange *exchange)
{
    struct stream *stream = exchange->stream;
    struct connection *connection = exchange->connection;
    char *data = connection->server->goes;
    size_t most = stream->left < PIECE_BYTES ? (size_t)stream->left : PIECE_BYTES;
    ssize_t count = most ? read(stream->fd, data, most) : 0;
    if (count > 0) {
        if (stream->left != HTTP_LENGTH_UNKNOWN)
            stream->left -= (uint64_t)count;
        send_piece(exchange, data, (size_t)count);
        return !connection->is_over;
    }
    if (count < 0 && errno == EINTR)
        return true;
    if (count < 0 && errno == EAGAIN && !stream->is_cut)
        return false;
    bool is_to_the_end = stream->left == HTTP_LENGTH_UNKNOWN;
    end_stream(exchange, count == 0 && !stream->is_cut && (is_to_the_end || !stream->left));
    return false;
}

void stream_pump(struct http_exchange *exchange)
{
    struct connection *connection = exchange->connection;
    http_hold(exchange);
    for (int i = 0; i < PIECES_OF_A_ROUND && !connection->out.length; i++)
        if (!pump_once(exchange))
            break;
    if (exchange->stream)
        watch(exchange->stream, !connection->out.length);
    http_release(exchange);
}

static void on_stream(evutil_socket_t fd, short events, void *userdata)
{
    struct http_exchange *exchange = userdata;
    struct connection *connection = exchange->connection;
    (void)fd, (void)events;
    connection_enter(connection);
    stream_pump(exchange);
    connection_go_on(connection);
    connection_leave(connection);
}

static struct stream *stream_new(struct http_exchange *exchange, uint64_t length, int fd)
{
    struct stream *stream = calloc(1, sizeof(*stream));
    if (!stream)
        return NULL;
    stream->fd = fd;
    stream->left = length;
    stream->is_chunked = length == HTTP_LENGTH_UNKNOWN && !exchange->head.is_1_0;
    (void)evutil_make_socket_nonblocking(fd);
    (void)event_assign(&stream->readable, exchange->connection->server->base, fd,
                       EV_READ | EV_PERSIST, on_stream, exchange);
    return stream;
}

/* Head and stream, or only the head where no body may follow. */
static void start(struct http_exchange *exchange, int status, const struct http_header *headers,
                  uint64_t length)
{
    struct connection *connection = exchange->connection;
    const struct buffer *head = &connection->server->head;
    bool has_body = strcmp(exchange->head.method, "HEAD") != 0 && status != 204 && status != 304;
    if (length == HTTP_LENGTH_UNKNOWN && !exchange->stream->is_chunked)
        exchange->keep_alive = false; /* the connection's end is the stream's */
    if (!answer_head_make(exchange, status, headers, length, exchange->stream->is_chunked)) {
        connection_close(connection);
        return;
    }
    const struct iovec part = {head->memory, head->length};
    connection_send(connection, &part, 1);
    if (connection->is_over)
        return;
    exchange->answer = ANSWER_STREAM;
    if (has_body) {
        stream_pump(exchange);
        return;
    }
    stream_done(exchange);
    connection_answered(connection);
}

void http_answer_stream(struct http_exchange *exchange, int status,
                        const struct http_header *headers, uint64_t length, int fd)
{
    struct connection *connection = exchange->connection;
    if (!connection || exchange->answer != ANSWER_NONE) {
        hutch_fd_close(&fd);
        return;
    }
    exchange->stream = stream_new(exchange, length, fd);
    if (!exchange->stream) {
        hutch_fd_close(&fd);
        exchange_refuse(exchange, 503, "The server is out of memory.");
        return;
    }
    connection_enter(connection);
    answer_begin(exchange, status);
    start(exchange, status, headers, length);
    connection_go_on(connection);
    connection_leave(connection);
}

void http_cut(struct http_exchange *exchange)
{
    struct connection *connection = exchange->connection;
    if (!connection || exchange->answer == ANSWER_MADE)
        return;
    connection_enter(connection);
    if (exchange->answer == ANSWER_STREAM) {
        exchange->stream->is_cut = true;
        stream_pump(exchange);
    } else {
        connection_close(connection);
    }
    connection_leave(connection);
}
