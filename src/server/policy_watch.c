/* SPDX-License-Identifier: Apache-2.0 */
#include "server/policy_watch.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "server/util.h"

#define INTERVAL_S 2

struct policy_watch {
    struct event *timer;
    atomic_bool is_busy; /* one reader at a time; what follows is its own */
    char said[sizeof(((struct hutch_error *)0)->msg)];
};

static void read_again(void *argument)
{
    struct server *server = argument;
    struct policy_watch *watch = server->policy_watch;
    struct hutch_error err = HUTCH_ERROR_INIT;
    bool is_changed = false;
    int status = hutch_policy_reload(server->policy, &is_changed, &err);
    if (status < 0 && strcmp(watch->said, err.msg) != 0) /* once, not every other second */
        server_say("%s", err.msg);
    else if (!status && is_changed)
        server_say("the policy was read again");
    memcpy(watch->said, err.msg, sizeof(watch->said));
    atomic_store(&watch->is_busy, false);
}

void policy_watch_now(struct server *server)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    struct policy_watch *watch = server->policy_watch;
    if (!atomic_exchange(&watch->is_busy, true) &&
        server_work(server, read_again, server, &ignored) < 0)
        atomic_store(&watch->is_busy, false);
}

static void on_timer(evutil_socket_t fd, short what, void *userdata)
{
    (void)fd, (void)what;
    policy_watch_now(userdata);
}

int policy_watch_new(struct server *server, struct hutch_error *err)
{
    const struct timeval interval = {.tv_sec = INTERVAL_S};
    struct policy_watch *watch = calloc(1, sizeof(*watch));
    if (!watch)
        return server_fail_nomem(err);
    server->policy_watch = watch;
    watch->timer = event_new(server->base, -1, EV_PERSIST, on_timer, server);
    if (!watch->timer || event_add(watch->timer, &interval) < 0)
        return server_fail(err, HUTCH_E_SYSTEM, "make a timer");
    return 0;
}

void policy_watch_free(struct server *server)
{
    if (server->policy_watch && server->policy_watch->timer)
        event_free(server->policy_watch->timer);
    if (server->policy_watch)
        server->policy_watch->timer = NULL;
}
