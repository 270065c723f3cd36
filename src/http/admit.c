/* SPDX-License-Identifier: Apache-2.0 */
/* The beginning of a connection: who it is, and whether one more is let in. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "http/connection.h"
#include "util/own.h"

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
    set_options(connection);
    connection_watch(connection);
}
