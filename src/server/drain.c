/* SPDX-License-Identifier: Apache-2.0 */
#include "server/drain.h"

#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>

#include "server/access_log.h"
#include "server/admission.h"
#include "server/host.h"
#include "server/policy_watch.h"
#include "server/util.h"

#define LOOK_US 20000

static const int signals[] = {SIGTERM, SIGINT, SIGHUP};

struct drain {
    struct event *events[SERVER_COUNT(signals)];
    struct event *timer;
    uint64_t until_us;
};

static void end_loop(void *userdata)
{
    struct server *server = userdata;
    (void)event_base_loopbreak(server->base);
}

/* Streams that only follow something would never end by themselves; their clients go on elsewhere,
 * by offset. Only what runs for somebody is waited for. */
static bool is_over(const struct server *server)
{
    struct server_counts counts;
    server_counts(server, &counts);
    return !counts.requests && !counts.creating && !counts.running && !counts.queued;
}

static void on_look(evutil_socket_t fd, short what, void *userdata)
{
    (void)fd, (void)what;
    struct server *server = userdata;
    if (is_over(server) || server_clock_us() >= server->drain->until_us)
        end_loop(server);
}

static void begin(struct server *server)
{
    const struct timeval interval = {.tv_usec = LOOK_US};
    server->drain->until_us = server_clock_us() + server->limits.drain_ms * 1000;
    atomic_store(&server->is_draining, true);
    host_drain(server->host);
    (void)event_add(server->drain->timer, &interval);
    http_server_drain(server->http, end_loop, server);
}

static void on_signal(evutil_socket_t number, short what, void *userdata)
{
    (void)what;
    struct server *server = userdata;
    if (number == SIGHUP) {
        access_log_reopen(server->access_log);
        policy_watch_now(server);
    } else if (atomic_load(&server->is_draining)) {
        end_loop(server);
    } else {
        begin(server);
    }
}

int drain_new(struct server *server, struct hutch_error *err)
{
    struct drain *drain = calloc(1, sizeof(*drain));
    if (!drain)
        return server_fail_nomem(err);
    server->drain = drain;
    drain->timer = event_new(server->base, -1, EV_PERSIST, on_look, server);
    bool is_made = drain->timer != NULL;
    for (size_t i = 0; i < SERVER_COUNT(signals); i++) {
        drain->events[i] = evsignal_new(server->base, signals[i], on_signal, server);
        is_made = is_made && drain->events[i] && event_add(drain->events[i], NULL) == 0;
    }
    return is_made ? 0 : server_fail(err, HUTCH_E_SYSTEM, "take signals");
}

void drain_free(struct server *server)
{
    struct drain *drain = server->drain;
    if (!drain)
        return;
    for (size_t i = 0; i < SERVER_COUNT(signals); i++)
        if (drain->events[i])
            event_free(drain->events[i]);
    if (drain->timer)
        event_free(drain->timer);
    free(drain);
    server->drain = NULL;
}
