/* SPDX-License-Identifier: Apache-2.0 */
/* Everybody in a queue waits equally long, so whoever comes last is due last: to set a deadline is
 * to go to the end of a queue. One timer, for the first of all, serves thousands. */
#include <time.h>

#include "http/connection.h"

#define LOOK_AFTER_MS 1000

uint64_t http_now_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

uint64_t http_now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void unlink_deadline(struct deadline *deadline)
{
    deadline->previous->next = deadline->next;
    deadline->next->previous = deadline->previous;
    deadline->kind = DEADLINE_NONE;
}

static struct connection *connection_of(struct deadline *deadline)
{
    return (struct connection *)((char *)deadline - offsetof(struct connection, deadline));
}

static void arm(struct deadlines *deadlines, uint64_t due_ms, uint64_t now_ms)
{
    if (deadlines->timer_due_ms && deadlines->timer_due_ms <= due_ms)
        return;
    uint64_t wait_ms = due_ms > now_ms ? due_ms - now_ms : 1;
    struct timeval wait = {.tv_sec = (time_t)(wait_ms / 1000),
                           .tv_usec = (suseconds_t)(wait_ms % 1000 * 1000)};
    deadlines->timer_due_ms = due_ms;
    (void)event_add(&deadlines->timer, &wait);
}

static void on_timer(evutil_socket_t fd, short events, void *userdata)
{
    struct http_server *server = userdata;
    struct deadlines *deadlines = &server->deadlines;
    uint64_t now_ms = http_now_ms();
    (void)fd, (void)events;
    deadlines->timer_due_ms = 0;
    for (enum deadline_kind kind = 0; kind < DEADLINE_COUNT; kind++) {
        struct deadline *ring = &deadlines->queues[kind];
        while (ring->next != ring && ring->next->due_ms <= now_ms) {
            struct deadline *due = ring->next;
            unlink_deadline(due);
            connection_is_due(connection_of(due), kind);
        }
        if (ring->next != ring)
            arm(deadlines, ring->next->due_ms, now_ms);
    }
}

void deadlines_init(struct http_server *server)
{
    struct deadlines *deadlines = &server->deadlines;
    const struct http_limits *limits = &server->options.limits;
    const uint64_t after_ms[DEADLINE_COUNT] = {
        [DEADLINE_HEAD] = limits->head_ms,         [DEADLINE_BODY] = limits->body_stall_ms,
        [DEADLINE_WRITE] = limits->write_stall_ms, [DEADLINE_IDLE] = limits->idle_ms,
        [DEADLINE_LINGER] = limits->linger_ms,     [DEADLINE_LOOK] = LOOK_AFTER_MS,
    };
    for (enum deadline_kind kind = 0; kind < DEADLINE_COUNT; kind++) {
        struct deadline *ring = &deadlines->queues[kind];
        ring->next = ring->previous = ring;
        deadlines->after_ms[kind] = after_ms[kind];
    }
    (void)evtimer_assign(&deadlines->timer, server->base, on_timer, server);
}

void deadlines_done(struct http_server *server)
{
    (void)event_del(&server->deadlines.timer);
}

void deadline_set(struct connection *connection, enum deadline_kind kind, bool renew)
{
    struct deadline *deadline = &connection->deadline;
    struct deadlines *deadlines = &connection->server->deadlines;
    if (deadline->kind == kind && !renew)
        return;
    if (deadline->kind != DEADLINE_NONE)
        unlink_deadline(deadline);
    if (kind == DEADLINE_NONE)
        return;
    struct deadline *ring = &deadlines->queues[kind];
    uint64_t now_ms = http_now_ms();
    deadline->kind = kind;
    deadline->due_ms = now_ms + deadlines->after_ms[kind];
    deadline->next = ring;
    deadline->previous = ring->previous;
    ring->previous->next = deadline;
    ring->previous = deadline;
    arm(deadlines, deadline->due_ms, now_ms);
}
