/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "egress/gateway.h"

#define SIDE_EVENTS (EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET)
#define FIRST_WORD_US 30000000 /* on the web's ports the client speaks first */
#define LINGER_US 2000000

/* ---- the list of all ---- */

static void list_add(struct connections *list, struct connection *connection)
{
    connection->previous = list->newest;
    connection->next = NULL;
    if (list->newest)
        list->newest->next = connection;
    else
        list->oldest = connection;
    list->newest = connection;
    list->count++;
}

static void list_remove(struct connections *list, struct connection *connection)
{
    *(connection->previous ? &connection->previous->next : &list->oldest) = connection->next;
    *(connection->next ? &connection->next->previous : &list->newest) = connection->previous;
    list->count--;
}

/* ---- its end ---- */

static void release(struct deferred *deferred)
{
    struct connection *connection = LOOP_OWNER(deferred, struct connection, release);
    loop_close(&connection->client.watch);
    loop_close(&connection->server.watch);
    free(connection);
}

/* Without a reset both ends have been told already, and the sockets can wait for a quiet moment. */
void connection_close(struct connection *connection, bool with_reset)
{
    struct gateway *gateway = connection->gateway;
    if (connection->is_closed)
        return;
    connection->is_closed = true;
    dial_end(&connection->dial);
    loop_timer_unset(&gateway->loop, &connection->deadline);
    budget_forget(&gateway->budget, &connection->waiter);
    void (*leave)(struct side * side) = with_reset ? side_reset : side_leave;
    leave(&connection->client);
    leave(&connection->server);
    flow_done(&connection->out, &gateway->connections.holds);
    flow_done(&connection->in, &gateway->connections.holds);
    figures_connection_end(gateway->table);
    connection->site->connections--;
    list_remove(&gateway->connections, connection);
    loop_release(&gateway->loop, &connection->release);
}

/* The words are few and the client's buffer is empty, so they fit. What the client still sends is
 * read and dropped for a while: a close before that would take the words away from it. */
static bool answer_403(struct connection *connection, const char *problem)
{
    char text[1024], sentence[480];
    int length =
        snprintf(sentence, sizeof(sentence), "hutch: this request to '%.253s' was refused: %s\n",
                 connection->site->name, problem);
    length = snprintf(text, sizeof(text),
                      "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n"
                      "Connection: close\r\n\r\n%s",
                      length, sentence);
    if (side_write(&connection->client, text, (size_t)length) != length)
        return false;
    dial_end(&connection->dial);
    side_reset(&connection->server);
    (void)shutdown(connection->client.watch.fd, SHUT_WR);
    connection->is_lingering = true;
    loop_timer_set(&connection->gateway->loop, &connection->deadline, LINGER_US);
    return true;
}

void connection_refuse(struct connection *connection, enum egress_why why, const char *problem)
{
    if (connection->is_closed || connection->is_lingering)
        return;
    figures_deny(connection->gateway->table, connection->site->name, connection->port, why);
    bool is_first = connection->talk == TALK_HTTP &&
                    (!connection->http.requests || why == EGRESS_WHY_CERTIFICATE) &&
                    !connection->in.passed && flow_is_empty(&connection->in);
    if (!problem || !is_first || !answer_403(connection, problem))
        connection_close(connection, true);
}

/* ---- events ---- */

static void on_side(struct connection *connection, struct side *side, uint32_t events)
{
    bool is_any = side->session != NULL;
    if (connection->is_closed)
        return;
    side->may_end |= (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
    side->is_readable |= is_any || (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR));
    side->is_writable |= is_any || (events & (EPOLLOUT | EPOLLHUP | EPOLLERR));
    connection_pump(connection);
}

static void on_client(struct watch *watch, uint32_t events)
{
    struct connection *connection = LOOP_OWNER(watch, struct connection, client.watch);
    on_side(connection, &connection->client, events);
}

static void on_server(struct watch *watch, uint32_t events)
{
    struct connection *connection = LOOP_OWNER(watch, struct connection, server.watch);
    on_side(connection, &connection->server, events);
}

static void on_turn(struct turn *turn)
{
    struct connection *connection = LOOP_OWNER(turn, struct connection, turn);
    if (!connection->is_closed)
        connection_pump(connection);
}

static void on_deadline(struct timer *timer)
{
    struct connection *connection = LOOP_OWNER(timer, struct connection, deadline);
    if (connection->is_lingering)
        connection_close(connection, false);
    else if (connection->talk == TALK_UNKNOWN)
        connection_refuse(connection, EGRESS_WHY_PROTOCOL, NULL);
}

static void on_dialled(struct dial *dial, int fd, enum egress_why why)
{
    struct connection *connection = LOOP_OWNER(dial, struct connection, dial);
    const int yes = 1;
    if (fd < 0) {
        connection_refuse(connection, why, NULL);
        return;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof(yes));
    connection->server.watch.fd = fd;
    connection->server.is_writable = true;
    if (loop_rewatch(&connection->gateway->loop, &connection->server.watch, SIDE_EVENTS) < 0)
        connection_refuse(connection, EGRESS_WHY_CONNECT, NULL);
    else
        loop_turn(&connection->gateway->loop, &connection->turn);
}

/* ---- its beginning ---- */

static bool is_for_the_web(uint16_t port)
{
    return port == 80 || port == 443;
}

void connection_begin(struct gateway *gateway, struct door *door, int fd)
{
    struct connection *connection = calloc(1, sizeof(*connection));
    if (!connection) {
        hutch_fd_close(&fd);
        return;
    }
    connection->gateway = gateway;
    connection->site = door->site;
    connection->port = door->port;
    connection->client.watch = (struct watch){.fd = fd, .on_event = on_client};
    connection->server.watch = (struct watch){.fd = -1, .on_event = on_server};
    connection->client.is_writable = true;
    flow_init(&connection->out, &connection->client, &connection->server);
    flow_init(&connection->in, &connection->server, &connection->client);
    connection->in.open = FLOW_OPEN;
    connection->deadline.on_due = on_deadline;
    connection->turn.on_turn = on_turn;
    connection->waiter.turn = &connection->turn;
    connection->release.release = release;
    connection->dial.gateway = gateway;
    connection->dial.name = door->site->name;
    connection->dial.resolution = &door->site->resolution;
    connection->dial.port = door->port;
    connection->dial.on_end = on_dialled;
    connection->figures = figures_host(gateway->table, door->site->name, door->port);
    figures_connection(gateway->table, connection->figures);
    door->site->connections++;
    list_add(&gateway->connections, connection);
    if (is_for_the_web(door->port))
        loop_timer_set(&gateway->loop, &connection->deadline, FIRST_WORD_US);
    dial_begin(&connection->dial);
    if (!connection->is_closed &&
        loop_watch(&gateway->loop, &connection->client.watch, SIDE_EVENTS) < 0)
        connection_close(connection, true);
}

/* ---- all of them ---- */

void connections_check(struct gateway *gateway, bool proxy_has_changed)
{
    struct connection *next;
    for (struct connection *connection = gateway->connections.oldest; connection;
         connection = next) {
        next = connection->next;
        if (!order_allows(gateway->order, connection->site->name, connection->port) ||
            (proxy_has_changed && !connection->dial.is_over))
            connection_close(connection, true);
    }
}

bool connections_make_room(struct gateway *gateway)
{
    for (struct connection *connection = gateway->connections.oldest; connection;
         connection = connection->next) {
        if (connection->is_proven)
            continue;
        connection_close(connection, true);
        return true;
    }
    return false;
}
