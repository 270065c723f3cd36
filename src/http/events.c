/* SPDX-License-Identifier: Apache-2.0 */
/* What a connection waits for: decided in one place, whenever something has happened to it. */
#include <errno.h>
#include <poll.h>

#include "http/connection.h"

/* How many bytes may be read now. */
static size_t room(const struct connection *connection)
{
    const struct http_exchange *exchange = connection->exchange;
    uint64_t ahead = connection->server->options.limits.pipelined_bytes;
    if (connection->is_over || connection->is_ended)
        return 0;
    if (connection->websocket && !connection->is_lingering)
        return websocket_is_held(connection) ? 0 : PIECE_BYTES;
    if (!exchange || connection->is_lingering)
        return PIECE_BYTES;
    if (body_is_wanted(exchange))
        return exchange->body.waits_for_room ? 0 : PIECE_BYTES;
    if (connection->in.length >= ahead)
        return 0;
    return ahead - connection->in.length < PIECE_BYTES ? (size_t)ahead - connection->in.length
                                                       : PIECE_BYTES;
}

static void watch(struct event *event, bool *is_set, bool wanted)
{
    if (*is_set == wanted)
        return;
    *is_set = wanted;
    if (wanted)
        (void)event_add(event, NULL);
    else
        (void)event_del(event);
}

static enum deadline_kind what_is_due(const struct connection *connection)
{
    const struct http_exchange *exchange = connection->exchange;
    if (connection->is_lingering)
        return DEADLINE_LINGER;
    if (connection->out.length)
        return DEADLINE_WRITE;
    if (connection->websocket)
        return websocket_is_closing(connection) ? DEADLINE_LINGER : DEADLINE_IDLE;
    if (exchange && body_is_wanted(exchange) && !exchange->body.waits_for_room)
        return DEADLINE_BODY;
    if (exchange)
        return connection->is_reading ? DEADLINE_NONE : DEADLINE_LOOK;
    /* A client that never said anything has as long as one that is saying it. */
    return connection->in.length || !connection->is_known ? DEADLINE_HEAD : DEADLINE_IDLE;
}

/* Of one that is set already: does it begin anew? */
static bool is_renewed(const struct connection *connection, enum deadline_kind kind)
{
    switch (kind) {
    case DEADLINE_HEAD:
        return connection->has_request;
    case DEADLINE_BODY:
        return connection->has_read;
    case DEADLINE_WRITE:
        return connection->has_written;
    case DEADLINE_IDLE:
        return connection->has_read || (connection->has_written && !connection->websocket);
    case DEADLINE_LINGER:
    case DEADLINE_LOOK:
    case DEADLINE_COUNT:
        break;
    }
    return false;
}

void connection_enter(struct connection *connection)
{
    connection->depth++;
}

void connection_leave(struct connection *connection)
{
    if (--connection->depth)
        return;
    if (connection->is_over) {
        connection_free(connection);
        return;
    }
    bool reads = room(connection) > 0;
    watch(&connection->readable, &connection->is_reading, reads);
    watch(&connection->writable, &connection->is_writing,
          connection->out.length || connection->tls_wants_write);
    if (reads && transport_has_more(connection))
        event_active(&connection->readable, EV_READ, 0);
    enum deadline_kind kind = what_is_due(connection);
    deadline_set(connection, kind, is_renewed(connection, kind));
    connection->has_read = connection->has_written = connection->has_request = false;
}

/* ---- events ---- */

static void read_some(struct connection *connection)
{
    struct http_server *server = connection->server;
    size_t most = room(connection);
    if (!most)
        return; /* held since */
    ssize_t count = transport_read(connection, server->came, most);
    if (count > 0) {
        connection->has_read = true;
        connection_take(connection, server->came, (size_t)count);
    } else if (count == 0) {
        connection_take_end(connection);
    } else if (errno != EAGAIN && errno != EINTR) {
        connection_close(connection);
    }
}

static void on_readable(evutil_socket_t fd, short events, void *userdata)
{
    struct connection *connection = userdata;
    (void)fd, (void)events;
    connection_enter(connection);
    read_some(connection);
    connection_leave(connection);
}

/* Nothing waits to be sent any more. */
static void sent_all(struct connection *connection)
{
    struct http_exchange *exchange = connection->exchange;
    if (connection->is_lingering)
        connection_linger(connection, true);
    else if (exchange && exchange->answer == ANSWER_MADE)
        connection_finish(connection);
    else if (exchange && exchange->answer == ANSWER_STREAM)
        stream_pump(exchange);
    else if (connection->websocket)
        websocket_flush(connection);
    connection_go_on(connection);
}

static void on_writable(evutil_socket_t fd, short events, void *userdata)
{
    struct connection *connection = userdata;
    (void)fd, (void)events;
    connection_enter(connection);
    if (connection->tls_wants_write)
        read_some(connection);
    bool had_some = connection->out.length > 0;
    connection_flush(connection);
    if (had_some && !connection->out.length && !connection->is_over)
        sent_all(connection);
    connection_leave(connection);
}

void connection_is_due(struct connection *connection, enum deadline_kind kind)
{
    connection_enter(connection);
    struct pollfd client = {.fd = connection->fd, .events = POLLRDHUP};
    switch (kind) {
    case DEADLINE_HEAD:
        if (connection->in.length)
            connection_refuse(connection,
                              &(struct refusal){408, "The head of the request did not come."});
        else
            connection_close(connection);
        break;
    case DEADLINE_BODY:
        if (connection->exchange->answer == ANSWER_NONE)
            exchange_refuse(connection->exchange, 408, "The body of the request did not come.");
        else
            connection_close(connection);
        break;
    case DEADLINE_IDLE:
        if (connection->websocket)
            websocket_is_idle(connection);
        else
            connection_close(connection);
        break;
    case DEADLINE_LOOK:
        if (poll(&client, 1, 0) > 0)
            connection_close(connection);
        break;
    case DEADLINE_WRITE:
    case DEADLINE_LINGER:
    case DEADLINE_COUNT:
        connection_close(connection);
        break;
    }
    connection_leave(connection);
}

void connection_watch(struct connection *connection)
{
    struct event_base *base = connection->server->base;
    (void)event_assign(&connection->readable, base, connection->fd, EV_READ | EV_PERSIST,
                       on_readable, connection);
    (void)event_assign(&connection->writable, base, connection->fd, EV_WRITE | EV_PERSIST,
                       on_writable, connection);
    deadline_set(connection, DEADLINE_HEAD, true);
    connection_enter(connection);
    connection_leave(connection);
}
