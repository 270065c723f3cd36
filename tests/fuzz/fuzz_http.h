/* SPDX-License-Identifier: Apache-2.0 */
/* A server with one client at the other end of a socketpair, who says what the fuzzer says, in
 * pieces of one size. */
#ifndef HUTCH_TESTS_FUZZ_HTTP_H
#define HUTCH_TESTS_FUZZ_HTTP_H

#include "fuzz.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/connection.h"

struct run {
    struct event_base *base;
    struct http_server *server;
    struct listener listener;
    int fd;
    uint64_t seen; /* a digest of what came to the handler */
    size_t count;  /* of requests, or of messages */
    size_t ends;   /* of a WebSocket */
    char out[65536];
    size_t out_length;
};

static inline void see(struct run *run, const void *data, size_t length)
{
    for (size_t i = 0; i < length; i++)
        run->seen = (run->seen ^ ((const unsigned char *)data)[i]) * UINT64_C(0x100000001b3);
    run->seen = (run->seen ^ length) * UINT64_C(0x100000001b3);
}

static inline void run_start(struct run *run, http_request_fn on_request)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    const struct http_server_options options = {
        .limits = http_default_limits, .on_request = on_request, .userdata = run};
    const struct sockaddr address = {.sa_family = AF_UNIX};
    int fds[2];
    *run = (struct run){.seen = 1};
    run->base = event_base_new();
    REQUIRE(run->base && http_server_new(run->base, &options, &run->server, &err) == 0, "%s",
            err.msg);
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) == 0, "%d",
            errno);
    run->listener = (struct listener){.server = run->server, .fd = -1};
    run->fd = fds[0];
    connection_new(&run->listener, fds[1], &address, sizeof(address));
}

static inline void run_read(struct run *run)
{
    char rest[4096];
    (void)event_base_loop(run->base, EVLOOP_NONBLOCK);
    for (;;) {
        bool is_kept = run->out_length < sizeof(run->out);
        ssize_t count = is_kept ? recv(run->fd, run->out + run->out_length,
                                       sizeof(run->out) - run->out_length, MSG_DONTWAIT)
                                : recv(run->fd, rest, sizeof(rest), MSG_DONTWAIT);
        if (count <= 0)
            return;
        run->out_length += is_kept ? (size_t)count : 0;
    }
}

static inline void run_send(struct run *run, const void *data, size_t length, size_t piece)
{
    const char *at = data;
    while (length) {
        size_t most = length < piece ? length : piece;
        ssize_t count = send(run->fd, at, most, MSG_NOSIGNAL | MSG_DONTWAIT);
        run_read(run);
        if (count < 0 && errno != EAGAIN)
            return; /* it has had enough */
        at += count > 0 ? count : 0;
        length -= count > 0 ? (size_t)count : 0;
    }
}

static inline void run_end(struct run *run)
{
    run_read(run);
    (void)close(run->fd);
    (void)event_base_loop(run->base, EVLOOP_NONBLOCK);
    http_server_free(run->server);
    event_base_free(run->base);
}

#endif
