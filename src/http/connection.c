/* SPDX-License-Identifier: Apache-2.0 */
/* A connection: what comes is used, what it waits for next is decided in one place. */
#include "http/connection.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "util/own.h"

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

static void connection_free(struct connection *connection)
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

static void finish(struct connection *connection)
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
    finish(connection);
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
        finish(connection);
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

static void take(struct connection *connection, const char *data, size_t length)
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
static void take_end(struct connection *connection)
{
    const struct http_exchange *exchange = connection->exchange;
    connection->is_ended = true;
    if (!exchange || exchange->answer != ANSWER_MADE || connection->is_lingering)
        connection_close(connection);
    else
        connection->closes = true;
}

/* ---- what it waits for ---- */

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
        take(connection, server->came, (size_t)count);
    } else if (count == 0) {
        take_end(connection);
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
        finish(connection);
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

/* ---- the beginning of one ---- */

static void refuse_client(struct http_server *server, int fd, bool has_tls)
{
    static const char answer[] = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n"
                                 "Content-Length: 0\r\nConnection: close\r\n\r\n";
    server->counts.refused++;
    if (!has_tls)
        (void)send(fd, answer, sizeof(answer) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    hutch_fd_close(&fd);
}

static void set_options(const struct connection *connection)
{
    const int on = 1, quiet_s = 60;
    if (connection->peer->about.is_unix)
        return;
    (void)setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    /* A stream that has nothing to say learns by this alone that its reader is gone. */
    (void)setsockopt(connection->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    (void)setsockopt(connection->fd, IPPROTO_TCP, TCP_KEEPIDLE, &quiet_s, sizeof(quiet_s));
}

static struct connection *allocate(struct listener *listener, int fd, const void *address,
                                   size_t length)
{
    struct http_server *server = listener->server;
    struct connection *connection = calloc(1, sizeof(*connection));
    if (!connection)
        return NULL;
    connection->server = server;
    connection->fd = fd;
    connection->deadline.kind = DEADLINE_NONE;
    connection->peer = peer_new(fd, address, listener->tls != NULL);
    if (connection->peer)
        connection->client = client_join(server, &connection->peer->about, address, length);
    if (connection->client &&
        (!listener->tls || transport_start_tls(connection, listener->tls) == 0))
        return connection;
    client_leave(server, connection->client);
    peer_unref(connection->peer);
    free(connection);
    return NULL;
}

void connection_new(struct listener *listener, int fd, const void *address, size_t length)
{
    struct http_server *server = listener->server;
    struct connection *connection = NULL;
    if (server->counts.connections < server->options.limits.connections)
        connection = allocate(listener, fd, address, length);
    if (!connection) {
        refuse_client(server, fd, listener->tls != NULL);
        return;
    }
    server->counts.accepted++;
    server->counts.connections++;
    connection->next = server->connections;
    if (connection->next)
        connection->next->previous = connection;
    server->connections = connection;
    (void)event_assign(&connection->readable, server->base, fd, EV_READ | EV_PERSIST, on_readable,
                       connection);
    (void)event_assign(&connection->writable, server->base, fd, EV_WRITE | EV_PERSIST, on_writable,
                       connection);
    set_options(connection);
    deadline_set(connection, DEADLINE_HEAD, true);
    connection_enter(connection);
    connection_leave(connection);
}
