/* SPDX-License-Identifier: Apache-2.0 */
/* Listening, and the end of it. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/connection.h"
#include "util/error.h"
#include "util/own.h"

#define ACCEPTED_OF_A_ROUND 64

/* ---- accepting ---- */

static void on_accept_again(evutil_socket_t fd, short events, void *userdata)
{
    struct http_server *server = userdata;
    (void)fd, (void)events;
    for (struct listener *listener = server->listeners; listener; listener = listener->next)
        (void)event_add(&listener->event, NULL);
}

/* No descriptor is free: clients wait in the backlog for a moment, instead of the loop turning. */
static void rest(struct http_server *server)
{
    const struct timeval moment = {.tv_usec = 100000};
    for (struct listener *listener = server->listeners; listener; listener = listener->next)
        (void)event_del(&listener->event);
    (void)event_add(&server->accept_again, &moment);
}

static void on_accept(evutil_socket_t listening_fd, short events, void *userdata)
{
    struct listener *listener = userdata;
    (void)events;
    for (int i = 0; i < ACCEPTED_OF_A_ROUND; i++) {
        struct sockaddr_storage address;
        socklen_t length = sizeof(address);
        memset(&address, 0, sizeof(address));
        int fd = accept4(listening_fd, (struct sockaddr *)&address, &length,
                         SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0)
            connection_new(listener, fd, &address, length);
        else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            rest(listener->server);
        if (fd < 0)
            return;
    }
}

/* ---- life ---- */

static void ignore_pipe_signal(void)
{
    struct sigaction action;
    if (sigaction(SIGPIPE, NULL, &action) == 0 && action.sa_handler == SIG_DFL)
        (void)signal(SIGPIPE, SIG_IGN);
}

int http_server_new(struct event_base *base, const struct http_server_options *options,
                    struct http_server **ret_server, struct hutch_error *err)
{
    struct http_server *server = calloc(1, sizeof(*server));
    if (!server)
        return hutch_fail_nomem(err);
    server->base = base;
    server->options = *options;
    if (getrandom(&server->id_seed, sizeof(server->id_seed), 0) != sizeof(server->id_seed)) {
        free(server);
        return hutch_fail_errno(err, errno, "get random bytes");
    }
    int r = posts_init(server, err);
    if (r < 0) {
        free(server);
        return r;
    }
    ignore_pipe_signal(); /* who writes to somebody who is gone sees it in errno */
    deadlines_init(server);
    (void)evtimer_assign(&server->accept_again, base, on_accept_again, server);
    *ret_server = server;
    return 0;
}

int http_server_listen(struct http_server *server, int fd, struct ssl_ctx_st *tls,
                       struct hutch_error *err)
{
    struct listener *listener = calloc(1, sizeof(*listener));
    if (!listener)
        return hutch_fail_nomem(err);
    if (evutil_make_socket_nonblocking(fd) < 0) {
        free(listener);
        return hutch_fail_errno(err, errno, "listen on the descriptor %d", fd);
    }
    *listener =
        (struct listener){.next = server->listeners, .server = server, .tls = tls, .fd = fd};
    (void)event_assign(&listener->event, server->base, fd, EV_READ | EV_PERSIST, on_accept,
                       listener);
    if (event_add(&listener->event, NULL) < 0) {
        free(listener);
        return hutch_fail(err, HUTCH_E_SYSTEM, 0, "cannot wait for clients on descriptor %d", fd);
    }
    server->listeners = listener;
    return 0;
}

static void stop_listening(struct http_server *server)
{
    (void)event_del(&server->accept_again);
    while (server->listeners) {
        struct listener *listener = server->listeners;
        server->listeners = listener->next;
        (void)event_del(&listener->event);
        hutch_fd_close(&listener->fd);
        free(listener);
    }
}

static void tell_drained(void *argument)
{
    struct http_server *server = argument;
    void (*on_drained)(void *userdata) = server->on_drained;
    server->on_drained = NULL;
    if (on_drained)
        on_drained(server->drained_userdata);
}

void server_connection_is_gone(struct http_server *server)
{
    if (!--server->counts.connections && server->is_draining && server->on_drained)
        http_post(server, tell_drained, server);
}

void http_server_drain(struct http_server *server, void (*on_drained)(void *userdata),
                       void *userdata)
{
    server->is_draining = true;
    server->on_drained = on_drained;
    server->drained_userdata = userdata;
    stop_listening(server);
    for (struct connection *connection = server->connections, *next; connection;
         connection = next) {
        next = connection->next;
        if (connection->exchange)
            continue;
        connection_enter(connection);
        connection_close(connection);
        connection_leave(connection);
    }
    if (!server->counts.connections)
        http_post(server, tell_drained, server);
}

void http_server_close(struct http_server *server)
{
    server->on_drained = NULL;
    stop_listening(server);
    while (server->connections) {
        struct connection *connection = server->connections;
        connection_enter(connection);
        if (connection->exchange) /* is nothing to one that is no WebSocket */
            http_websocket_close(connection->exchange, 1001, "the server ends");
        connection_close(connection);
        connection_leave(connection);
    }
}

void http_server_free(struct http_server *server)
{
    if (!server)
        return;
    http_server_close(server);
    posts_done(server);
    deadlines_done(server);
    buffer_done(&server->head);
    free(server);
}

void http_server_counts(const struct http_server *server, struct http_counts *ret_counts)
{
    *ret_counts = server->counts;
}
