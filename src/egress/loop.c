/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/loop.h"

#include <time.h>

#define EVENTS_OF_A_ROUND 64
#define RELEASES_THAT_WAIT 8

static uint64_t clock_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

int loop_init(struct loop *loop, struct hutch_error *err)
{
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (loop->epoll < 0)
        return hutch_fail_errno(err, errno, "make the gateway's loop");
    loop->now_us = clock_us();
    return 0;
}

/* ---- descriptors ---- */

static int control(struct loop *loop, int operation, struct watch *watch, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = watch};
    return epoll_ctl(loop->epoll, operation, watch->fd, &event);
}

int loop_watch(struct loop *loop, struct watch *watch, uint32_t events)
{
    return control(loop, EPOLL_CTL_ADD, watch, events);
}

int loop_rewatch(struct loop *loop, struct watch *watch, uint32_t events)
{
    if (control(loop, EPOLL_CTL_ADD, watch, events) == 0)
        return 0;
    return errno == EEXIST ? control(loop, EPOLL_CTL_MOD, watch, events) : -1;
}

void loop_close(struct watch *watch)
{
    hutch_fd_close(&watch->fd);
}

/* ---- deadlines: a heap with the next one on top ---- */

static void put(struct loop *loop, size_t place, struct timer *timer)
{
    loop->timers[place] = timer;
    timer->place = place;
}

static void rise(struct loop *loop, size_t place)
{
    struct timer *timer = loop->timers[place];
    for (; place > 1 && loop->timers[place / 2]->due_us > timer->due_us; place /= 2)
        put(loop, place, loop->timers[place / 2]);
    put(loop, place, timer);
}

static void sink(struct loop *loop, size_t place)
{
    struct timer *timer = loop->timers[place];
    for (size_t child; (child = place * 2) <= loop->timer_count; place = child) {
        if (child < loop->timer_count &&
            loop->timers[child + 1]->due_us < loop->timers[child]->due_us)
            child++;
        if (loop->timers[child]->due_us >= timer->due_us)
            break;
        put(loop, place, loop->timers[child]);
    }
    put(loop, place, timer);
}

void loop_timer_unset(struct loop *loop, struct timer *timer)
{
    size_t place = timer->place;
    if (!place)
        return;
    timer->place = 0;
    struct timer *last = loop->timers[loop->timer_count--];
    if (last == timer)
        return;
    put(loop, place, last);
    rise(loop, place);
    sink(loop, last->place);
}

void loop_timer_set(struct loop *loop, struct timer *timer, uint64_t delay_us)
{
    loop_timer_unset(loop, timer);
    if (loop->timer_count == LOOP_MAX_TIMERS)
        return;
    timer->due_us = loop->now_us + delay_us;
    put(loop, ++loop->timer_count, timer);
    rise(loop, timer->place);
}

static void run_timers(struct loop *loop)
{
    while (loop->timer_count && loop->timers[1]->due_us <= loop->now_us) {
        struct timer *timer = loop->timers[1];
        loop_timer_unset(loop, timer);
        timer->on_due(timer);
    }
}

/* ---- turns ---- */

void loop_turn(struct loop *loop, struct turn *turn)
{
    if (turn->is_queued)
        return;
    turn->is_queued = true;
    turn->next = NULL;
    if (loop->last_turn)
        loop->last_turn->next = turn;
    else
        loop->first_turn = turn;
    loop->last_turn = turn;
}

/* Those that queue again meanwhile wait for the next round. */
static void run_turns(struct loop *loop)
{
    struct turn *turn = loop->first_turn;
    loop->first_turn = loop->last_turn = NULL;
    while (turn) {
        struct turn *next = turn->next;
        turn->is_queued = false;
        turn->on_turn(turn);
        turn = next;
    }
}

/* ---- the loop ---- */

void loop_release(struct loop *loop, struct deferred *deferred)
{
    deferred->next = loop->released;
    loop->released = deferred;
    loop->released_count++;
}

/* What was released in this round may still have a turn, which it gets in the next one. */
static void run_releases(struct loop *loop)
{
    struct deferred *deferred = loop->had_its_turn;
    loop->had_its_turn = loop->released;
    loop->released = NULL;
    while (deferred) {
        struct deferred *next = deferred->next;
        loop->released_count--;
        deferred->release(deferred);
        deferred = next;
    }
}

static int patience_ms(const struct loop *loop)
{
    if (loop->first_turn || loop->released || loop->had_its_turn)
        return 0;
    if (!loop->timer_count)
        return -1;
    uint64_t due = loop->timers[1]->due_us;
    if (due <= loop->now_us)
        return 0;
    uint64_t wait_ms = (due - loop->now_us + 999) / 1000;
    return wait_ms < 60000 ? (int)wait_ms : 60000;
}

static void handle(const struct epoll_event *events, int count, bool are_doors)
{
    for (int i = 0; i < count; i++) {
        struct watch *watch = events[i].data.ptr;
        if (watch->fd >= 0 && watch->is_door == are_doors)
            watch->on_event(watch, events[i].events);
    }
}

int loop_run(struct loop *loop, struct hutch_error *err)
{
    struct epoll_event events[EVENTS_OF_A_ROUND];
    while (!loop->has_ended) {
        int count = epoll_wait(loop->epoll, events, EVENTS_OF_A_ROUND, patience_ms(loop));
        if (count < 0 && errno != EINTR)
            return hutch_fail_errno(err, errno, "wait for the gateway's events");
        loop->now_us = clock_us();
        handle(events, count, true);
        handle(events, count, false);
        run_timers(loop);
        run_turns(loop);
        if (count <= 0 || loop->released_count > RELEASES_THAT_WAIT)
            run_releases(loop);
    }
    return 0;
}
