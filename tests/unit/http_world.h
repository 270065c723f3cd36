/* SPDX-License-Identifier: Apache-2.0 */
/* A server and its clients in one thread: the loop turns only while a test waits for something, so
 * that what happens when is the test's to say. */
#ifndef HUTCH_TESTS_HTTP_WORLD_H
#define HUTCH_TESTS_HTTP_WORLD_H

#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "http/http.h"

#define WAIT_MS 5000

struct world {
    struct event_base *base;
    struct http_server *server;
    struct http_limits limits;
    uint16_t port;
    size_t requests; /* that came to the handler */
    char last_path[256];
    struct http_exchange *waiting; /* of "/wait" */
    int stream_fd;                 /* of "/stream": to write into */
    int body_fd;                   /* of "/pipe": to read from */
    size_t body_bytes;             /* that on_body was called with; SIZE_MAX: without */
    int closed_code;               /* of a WebSocket */
    size_t messages;
    size_t message_bytes;
    bool holds; /* messages after the first */
    size_t rooms;
    bool is_drained;
    size_t logged;
    int logged_status;
    char logged_note[128];
};

static inline uint64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static inline void turn(struct world *world)
{
    const struct timespec moment = {.tv_nsec = 200000};
    (void)event_base_loop(world->base, EVLOOP_NONBLOCK);
    (void)nanosleep(&moment, NULL);
}

static inline void turn_for(struct world *world, uint64_t ms)
{
    for (uint64_t end = now_ms() + ms; now_ms() < end;)
        turn(world);
}

#define wait_until(world, condition)                      \
    do {                                                  \
        uint64_t end_ = now_ms() + WAIT_MS;               \
        while (!(condition)) {                            \
            if (now_ms() > end_)                          \
                fail_msg("it never was so: " #condition); \
            turn(world);                                  \
        }                                                 \
    } while (0)

/* ---- the handler ---- */

static inline struct world *world_of(struct http_exchange *exchange)
{
    return http_userdata(exchange);
}

static inline void on_whole_body(struct http_exchange *exchange, const char *data, size_t length)
{
    world_of(exchange)->body_bytes = data ? length : SIZE_MAX;
    if (data)
        http_answer(exchange, 200, NULL, data, length);
}

static inline void on_message(struct http_exchange *exchange, bool is_text, const char *data,
                              size_t length)
{
    struct world *world = world_of(exchange);
    world->messages++;
    world->message_bytes += length;
    if (world->holds)
        http_websocket_hold(exchange, true);
    if (length == 3 && !memcmp(data, "bye", 3))
        http_websocket_close(exchange, 1000, "bye");
    else
        http_websocket_send(exchange, is_text, data, length);
}

static inline void on_close(struct http_exchange *exchange, int code)
{
    assert_int_equal(world_of(exchange)->closed_code, 0);
    world_of(exchange)->closed_code = code;
}

static inline void on_room(struct http_exchange *exchange)
{
    world_of(exchange)->rooms++;
}

static inline void answer_stream(struct world *world, struct http_exchange *exchange)
{
    int fds[2];
    uint64_t length = HTTP_LENGTH_UNKNOWN;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    (void)fcntl(fds[1], F_SETFL, O_NONBLOCK);
    if (http_query(exchange)[0])
        length = strtoull(http_query(exchange), NULL, 10);
    world->stream_fd = fds[1];
    http_hold(exchange);
    world->waiting = exchange;
    http_answer_stream(exchange, 200, NULL, length, fds[0]);
}

static inline void on_request(void *userdata, struct http_exchange *exchange)
{
    static const struct http_websocket_fns websocket = {on_message, on_close, on_room};
    struct world *world = userdata;
    const char *path = http_path(exchange);
    world->requests++;
    http_set_userdata(exchange, world);
    (void)snprintf(world->last_path, sizeof(world->last_path), "%s", path);
    if (!strcmp(path, "/echo")) {
        http_read_body(exchange, 1000, on_whole_body);
    } else if (!strcmp(path, "/wait")) {
        http_hold(exchange);
        world->waiting = exchange;
    } else if (!strcmp(path, "/stream")) {
        answer_stream(world, exchange);
    } else if (!strcmp(path, "/pipe")) {
        struct hutch_error err;
        http_hold(exchange);
        world->waiting = exchange;
        assert_fine(http_pipe_body(exchange, &world->body_fd, &err), &err);
    } else if (!strcmp(path, "/websocket")) {
        http_hold(exchange);
        world->waiting = exchange;
        (void)http_websocket(exchange, "hutch.v1", &websocket);
    } else {
        http_answer(exchange, 200, NULL, path, strlen(path));
    }
}

static inline void on_log(void *userdata, const struct http_log_entry *entry)
{
    struct world *world = userdata;
    world->logged++;
    world->logged_status = entry->status;
    (void)snprintf(world->logged_note, sizeof(world->logged_note), "%s", entry->note);
}

/* ---- the server ---- */

static inline int listen_on_loopback(uint16_t *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 64), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    *ret_port = ntohs(address.sin_port);
    return fd;
}

static inline void world_start(struct world *world, struct ssl_ctx_st *tls)
{
    struct hutch_error err;
    const struct http_server_options options = {
        .limits = world->limits, .on_request = on_request, .on_log = on_log, .userdata = world};
    world->base = event_base_new();
    assert_non_null(world->base);
    assert_fine(http_server_new(world->base, &options, &world->server, &err), &err);
    int fd = listen_on_loopback(&world->port);
    assert_fine(http_server_listen(world->server, fd, tls, &err), &err);
}

static inline int world_setup(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    assert_non_null(world);
    world->limits = http_default_limits;
    world->stream_fd = world->body_fd = -1;
    *state = world;
    return 0;
}

static inline int world_teardown(void **state)
{
    struct world *world = *state;
    http_server_free(world->server);
    if (world->waiting)
        http_release(world->waiting);
    if (world->stream_fd >= 0)
        (void)close(world->stream_fd);
    if (world->body_fd >= 0)
        (void)close(world->body_fd);
    if (world->base)
        event_base_free(world->base);
    free(world);
    return 0;
}

/* ---- a client ---- */

static inline int client_open(const struct world *world)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(world->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static inline void client_send(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* Reads until the connection's end, or until `until` has come. True: it ended. */
static inline bool client_read(struct world *world, int fd, char *answer, size_t size,
                               const char *until)
{
    size_t filled = 0;
    answer[0] = '\0';
    for (uint64_t end = now_ms() + WAIT_MS; now_ms() < end;) {
        ssize_t count = recv(fd, answer + filled, size - 1 - filled, MSG_DONTWAIT);
        if (count == 0 || (count < 0 && errno != EAGAIN))
            return true;
        if (count > 0)
            filled += (size_t)count;
        answer[filled] = '\0';
        if (until && strstr(answer, until))
            return false;
        turn(world);
    }
    fail_msg("neither the end nor '%s' came: %s", until ? until : "", answer);
    return false;
}

/* One request on a connection of its own, to its end. */
static inline void ask(struct world *world, const char *request, char *answer, size_t size)
{
    int fd = client_open(world);
    client_send(fd, request);
    (void)client_read(world, fd, answer, size, NULL);
    (void)close(fd);
}

#endif
