/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/dial.h"

#include <stdlib.h>
#include <string.h>

#include "egress/gateway.h"

#define NEXT_ATTEMPT_US 250000
#define PATIENCE_US 15000000

static void attempt_next(struct dial *dial, size_t slot);

/* ---- its end ---- */

void dial_end(struct dial *dial)
{
    if (dial->is_over)
        return;
    dial->is_over = true;
    loop_timer_unset(&dial->gateway->loop, &dial->timer);
    if (dial->asked)
        resolver_forget(dial->asked, &dial->waiter);
    dial->asked = NULL;
    for (size_t i = 0; i < DIAL_ATTEMPTS; i++)
        loop_close(&dial->attempts[i]);
    if (dial->proxy_bytes)
        explicit_bzero(dial->proxy_bytes, PROXY_BYTES);
    free(dial->proxy_bytes);
    dial->proxy_bytes = NULL;
}

void dial_succeed(struct dial *dial, int fd)
{
    dial_end(dial);
    dial->on_end(dial, fd, 0);
}

void dial_fail(struct dial *dial, enum egress_why why)
{
    dial_end(dial);
    dial->on_end(dial, -1, why);
}

/* ---- attempts ---- */

static bool is_trying(const struct dial *dial)
{
    for (size_t i = 0; i < DIAL_ATTEMPTS; i++)
        if (dial->attempts[i].fd >= 0)
            return true;
    return false;
}

static void connected(struct dial *dial, size_t slot)
{
    int fd = HUTCH_TAKE_FD(dial->attempts[slot].fd);
    for (size_t i = 0; i < DIAL_ATTEMPTS; i++)
        loop_close(&dial->attempts[i]);
    if (dial->gateway->order && dial->gateway->order->proxy.kind != PROXY_NONE)
        proxy_begin(dial, fd);
    else
        dial_succeed(dial, fd);
}

static void on_attempt(struct dial *dial, size_t slot)
{
    int error = 0;
    socklen_t size = sizeof(error);
    if (getsockopt(dial->attempts[slot].fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0 || error) {
        loop_close(&dial->attempts[slot]);
        attempt_next(dial, slot);
        return;
    }
    connected(dial, slot);
}

static void on_attempt_0(struct watch *watch, uint32_t events)
{
    if (events & (EPOLLOUT | EPOLLERR | EPOLLHUP))
        on_attempt(LOOP_OWNER(watch, struct dial, attempts[0]), 0);
}

static void on_attempt_1(struct watch *watch, uint32_t events)
{
    if (events & (EPOLLOUT | EPOLLERR | EPOLLHUP))
        on_attempt(LOOP_OWNER(watch, struct dial, attempts[1]), 1);
}

/* 1: connected; 0: under way; -1: no. A server on the same host has answered before the first call
 * returns, which the second one tells. */
static int try_connect(int fd, const struct sockaddr *to, socklen_t length)
{
    if (connect(fd, to, length) == 0)
        return 1;
    if (errno != EINPROGRESS)
        return -1;
    if (connect(fd, to, length) == 0)
        return 1;
    return errno == EALREADY ? 0 : -1;
}

/* The same, and watched while it is under way. */
static int attempt(struct dial *dial, struct watch *watch, const struct address *address)
{
    const struct order *order = dial->gateway->order;
    uint16_t port = order && order->proxy.kind != PROXY_NONE ? order->proxy.port : dial->port;
    struct sockaddr_storage to;
    socklen_t length = address_socket(address, port, &to);
    watch->fd = socket(address->family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (watch->fd < 0)
        return -1;
    int status = try_connect(watch->fd, (struct sockaddr *)&to, length);
    if (status > 0 ||
        (status == 0 && loop_watch(&dial->gateway->loop, watch, EPOLLOUT | EPOLLET) == 0))
        return status;
    loop_close(watch);
    return -1;
}

static void attempt_next(struct dial *dial, size_t slot)
{
    while (dial->next < dial->count) {
        int status = attempt(dial, &dial->attempts[slot], &dial->addresses[dial->next++]);
        if (status > 0)
            connected(dial, slot);
        if (status >= 0)
            return;
    }
    if (!is_trying(dial))
        dial_fail(dial, EGRESS_WHY_CONNECT);
}

static void on_due(struct timer *timer)
{
    struct dial *dial = LOOP_OWNER(timer, struct dial, timer);
    struct loop *loop = &dial->gateway->loop;
    if (loop->now_us - dial->began_us > PATIENCE_US) {
        dial_fail(dial, dial->asked ? EGRESS_WHY_RESOLVE : EGRESS_WHY_CONNECT);
        return;
    }
    loop_timer_set(loop, timer, NEXT_ATTEMPT_US);
    for (size_t i = 0; i < DIAL_ATTEMPTS && dial->next && dial->next < dial->count; i++) {
        if (dial->attempts[i].fd >= 0)
            continue;
        attempt_next(dial, i);
        return;
    }
}

/* ---- addresses ---- */

/* Every address, each time: what a name server says of an allowed name may change at any moment.
 * The proxy's own is the operator's choice. */
static void dial_addresses(struct dial *dial, const struct resolution *resolution)
{
    const struct order *order = dial->gateway->order;
    bool is_proxied = order && order->proxy.kind != PROXY_NONE;
    for (size_t i = 0; order && i < resolution->count; i++)
        if (is_proxied ||
            !address_is_refused(&resolution->addresses[i], order->opened, order->opened_count))
            dial->addresses[dial->count++] = resolution->addresses[i];
    if (dial->count)
        attempt_next(dial, 0);
    else
        dial_fail(dial, resolution->count ? EGRESS_WHY_RANGE : EGRESS_WHY_RESOLVE);
}

static void on_resolved(struct waiter *waiter)
{
    struct dial *dial = LOOP_OWNER(waiter, struct dial, waiter);
    struct resolution *resolution = dial->asked;
    dial->asked = NULL;
    dial_addresses(dial, resolution);
}

static void dial_name(struct dial *dial, struct resolution *resolution)
{
    if (resolver_ask(&dial->gateway->resolver, resolution, &dial->waiter))
        dial_addresses(dial, resolution);
    else
        dial->asked = resolution;
}

void dial_begin(struct dial *dial)
{
    struct gateway *gateway = dial->gateway;
    dial->is_over = false;
    dial->waiter.on_resolved = on_resolved;
    dial->timer.on_due = on_due;
    dial->attempts[0] = (struct watch){.fd = -1, .on_event = on_attempt_0};
    dial->attempts[1] = (struct watch){.fd = -1, .on_event = on_attempt_1};
    dial->began_us = gateway->loop.now_us;
    loop_timer_set(&gateway->loop, &dial->timer, NEXT_ATTEMPT_US);
    const struct proxy *proxy = &gateway->order->proxy;
    if (proxy->kind == PROXY_NONE) {
        dial_name(dial, dial->resolution);
    } else if (proxy->host[0]) {
        gateway->proxy.name = proxy->host;
        dial_name(dial, &gateway->proxy);
    } else {
        dial->addresses[dial->count++] = proxy->address;
        attempt_next(dial, 0);
    }
}
