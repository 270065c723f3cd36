/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/socket.h>

#include "egress/gateway.h"

#define ACCEPTS_OF_A_TURN 16
#define REST_US 50000
#define ROUND_US 100000 /* is longer than a round takes */

static void reject(struct gateway *gateway, const struct door *door, int fd, enum egress_why why)
{
    struct side side = {.watch.fd = fd};
    figures_deny(gateway->table, door->site->name, door->port, why);
    side_reset(&side);
}

static bool is_at_limit(const struct gateway *gateway)
{
    uint64_t limit = gateway->order ? gateway->order->head->max_connections : 0;
    return limit && gateway->connections.count >= limit;
}

static bool is_full(const struct gateway *gateway)
{
    return is_at_limit(gateway) || gateway->connections.count >= gateway->connections.max;
}

/* A full gateway lets go of whoever has said nothing yet; a limit of the order is a limit. */
static bool has_room(struct gateway *gateway)
{
    return !is_full(gateway) || (!is_at_limit(gateway) && connections_make_room(gateway));
}

/* Without descriptors the listener would report the same connection forever. */
static void rest(struct gateway *gateway, struct door *door)
{
    (void)epoll_ctl(gateway->loop.epoll, EPOLL_CTL_DEL, door->watch.fd, NULL);
    loop_timer_set(&gateway->loop, &door->rest, REST_US);
}

void door_on_event(struct watch *watch, uint32_t events)
{
    struct door *door = LOOP_OWNER(watch, struct door, watch);
    struct gateway *gateway = door->site->gateway;
    /* who waited longer ago has left without a word */
    bool has_waited = gateway->loop.now_us - door->waited_us < ROUND_US;
    (void)events;
    door->waited_us = 0;
    for (int i = 0; i < ACCEPTS_OF_A_TURN; i++) {
        if (is_full(gateway) && !has_waited) {
            /* who has ended in this round is heard after the doors */
            door->waited_us = i == 0 ? gateway->loop.now_us : 0;
            return;
        }
        /* cppcheck-suppress nullPointer ; it has an attribute that says otherwise */
        int fd = accept4(watch->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
                rest(gateway, door);
            return;
        }
        if (!order_allows(gateway->order, door->site->name, door->port))
            reject(gateway, door, fd, EGRESS_WHY_NAME);
        else if (budget_is_over(&gateway->budget))
            reject(gateway, door, fd, EGRESS_WHY_BYTES);
        else if (!has_room(gateway))
            reject(gateway, door, fd, EGRESS_WHY_CONNECTIONS);
        else
            connection_begin(gateway, door, fd);
    }
}
