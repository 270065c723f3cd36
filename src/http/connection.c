/* SPDX-License-Identifier: Apache-2.0 */
/* A connection: what comes on it is used, one request after the other. */
#include "http/connection.h"

#include <stdlib.h>
#include <string.h>

/* What a refused client sends behind its request is thrown away, up to here: closing while it
 * sends would take the answer back from it. */
#define MOST_LINGERED_BYTES ((uint64_t)4 * 1024 * 1024)

/* ---- the end of one ---- */

static void unlink_connection(struct connection *connection)
{
    struct http_server *server = connection->server;
    if (connection->next)
        connection->next->previous = connection->previous;
    if (connection->previous)
        connection->previous->next = connection->next;
    else
        server->connections = connection->next;
}

static void log_exchange(struct connection *connection, bool is_gone)
{
    const struct http_exchange *exchange = connection->exchange;
    const struct http_log_entry entry = {
        .method = exchange->head.method,
        .target = exchange->head.target,
        /* As nginx has it: the client went before there was an answer. */
        .status = is_gone && !exchange->status ? 499 : exchange->status,
        .bytes_out = exchange->bytes_out,
        .duration_us = http_now_us() - exchange->start_us,
        .peer = exchange->peer->about.name,
        .note = exchange->note ? exchange->note : "",
        .request_id = exchange->request_id,
    };
    if (connection->server->options.on_log)
        connection->server->options.on_log(connection->server->options.userdata, &entry);
}

/* The exchange is taken off first: whoever is told may call back. */
static void end_exchange(struct connection *connection, bool is_gone)
{
    struct http_exchange *exchange = connection->exchange;
    log_exchange(connection, is_gone);
    connection->exchange = NULL;
    exchange_over(exchange, is_gone);
}

void connection_close(struct connection *connection)
{
    if (connection->is_over)
        return;
    connection->is_over = true;
    (void)event_del(&connection->readable);
    (void)event_del(&connection->writable);
    deadline_set(connection, DEADLINE_NONE, true);
    transport_close(connection);
    unlink_connection(connection);
    websocket_gone(connection, 1006);
    if (connection->exchange)
        end_exchange(connection, true);
}

void connection_free(struct connection *connection)
{
    struct http_server *server = connection->server;
    websocket_done(connection);
    client_leave(server, connection->client);
    peer_unref(connection->peer);
    buffer_done(&connection->in);
    buffer_done(&connection->out);
    free(connection);
    server_connection_is_gone(server);
}

void connection_linger(struct connection *connection, bool unread)
{
    if (connection->is_over)
        return;
    if (connection->is_ended || (!unread && !connection->in.length)) {
        connection_close(connection);
        return;
    }
    buffer_done(&connection->in);
    connection->is_lingering = true;
    if (!connection->out.length)
        transport_end(connection);
}

/* ---- an answer's end ---- */

void connection_finish(struct connection *connection)
{
    const struct http_exchange *exchange = connection->exchange;
    if (connection->out.length || connection->is_over || exchange->body.sink == BODY_TO_NOTHING)
        return;
    bool came_whole = exchange->body.sink == BODY_DONE;
    end_exchange(connection, false);
    connection->scan = (struct head_scan){0};
    connection->is_known = connection->has_request = true;
    if (connection->closes)
        connection_linger(connection, !came_whole);
}

void connection_answered(struct connection *connection)
{
    struct http_exchange *exchange = connection->exchange;
    enum body_sink sink = exchange->body.sink;
    exchange->answer = ANSWER_MADE;
    /* A body that still comes when its answer is whole: where it ends is nobody's concern. */
    if (!exchange->keep_alive || (sink != BODY_DONE && sink != BODY_TO_NOTHING))
        connection->closes = true;
    connection_finish(connection);
}

/* ---- what comes ---- */

/* A head that is whole becomes a request. How many bytes were used. */
static size_t use_head(struct connection *connection, const char *data, size_t length)
{
    struct http_server *server = connection->server;
    struct refusal refusal;
    size_t head_length;
    int r =
        head_scan(&connection->scan, data, length, &server->options.limits, &head_length, &refusal);
    if (!r)
        return 0;
    if (r > 0)
        connection->exchange = exchange_new(connection, data, head_length, &refusal);
    if (!connection->exchange) {
        connection_refuse(connection, &refusal);
        return length;
    }
    server->counts.requests++;
    server->options.on_request(server->options.userdata, connection->exchange);
    return head_length;
}

static size_t use_once(struct connection *connection, const char *data, size_t length)
{
    if (connection->is_over)
        return length;
    if (connection->is_lingering) {
        connection->lingered_bytes += length;
        if (connection->lingered_bytes > MOST_LINGERED_BYTES)
            connection_close(connection);
        return length;
    }
    if (connection->websocket)
        return websocket_feed(connection, data, length);
    if (!connection->exchange)
        return connection->closes ? 0 : use_head(connection, data, length);
    if (!body_is_wanted(connection->exchange))
        return 0;
    size_t used = body_feed(connection, data, length);
    if (connection->exchange && connection->exchange->answer == ANSWER_MADE)
        connection_finish(connection);
    return used;
}

static size_t use(struct connection *connection, const char *data, size_t length)
{
    size_t used = 0;
    connection->is_using = true;
    while (used < length) {
        size_t more = use_once(connection, data + used, length - used);
        if (!more)
            break;
        used += more;
    }
    connection->is_using = false;
    return used;
}

void connection_go_on(struct connection *connection)
{
    if (connection->is_using || connection->is_over || !connection->in.length)
        return;
    /* Taken out: what is called may close the connection, and what comes is not added meanwhile. */
    struct buffer came = connection->in;
    connection->in = (struct buffer){0};
    size_t used = use(connection, buffer_at(&came), came.length);
    if (connection->is_over || connection->is_lingering) {
        buffer_done(&came);
        return;
    }
    buffer_drop(&came, used);
    connection->in = came;
}

void connection_take(struct connection *connection, const char *data, size_t length)
{
    bool some_waits = connection->in.length > 0;
    size_t used = some_waits ? 0 : use(connection, data, length);
    if (connection->is_over || connection->is_lingering || used == length)
        return;
    if (!buffer_add(&connection->in, data + used, length - used))
        connection_close(connection);
    else if (some_waits)
        connection_go_on(connection);
}

/* The client sends nothing more. Who waits for an answer is gone, for one who only closed its
 * sending side cannot be told from one who died; an answer that is made is still sent. */
void connection_take_end(struct connection *connection)
{
    const struct http_exchange *exchange = connection->exchange;
    connection->is_ended = true;
    if (!exchange || exchange->answer != ANSWER_MADE || connection->is_lingering)
        connection_close(connection);
    else
        connection->closes = true;
}
