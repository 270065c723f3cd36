/* SPDX-License-Identifier: Apache-2.0 */
/* The gateway's one loop: descriptors, deadlines, and work that is to go on after everybody else
 * has had a turn. What is freed while events are handled is freed after the last of them, so that
 * none of them finds its owner gone. */
#ifndef HUTCH_EGRESS_LOOP_H
#define HUTCH_EGRESS_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "util/error.h"
#include "util/own.h"

#define LOOP_OWNER(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

/* More than there can be: two of each connection, and a few of the gateway's own parts. */
#define LOOP_MAX_TIMERS 4096

struct watch {
    int fd; /* negative: none */
    void (*on_event)(struct watch *watch, uint32_t events);
    bool is_door; /* somebody new waits there: before those whose work is under way, or over */
};

struct timer {
    uint64_t due_us;
    size_t place; /* in the heap, from 1; 0: not set */
    void (*on_due)(struct timer *timer);
};

struct turn {
    struct turn *next;
    bool is_queued;
    void (*on_turn)(struct turn *turn);
};

struct deferred {
    struct deferred *next;
    void (*release)(struct deferred *deferred);
};

struct loop {
    int epoll;
    bool has_ended;
    uint64_t now_us; /* CLOCK_MONOTONIC, as of the last events */
    size_t timer_count;
    struct timer *timers[LOOP_MAX_TIMERS + 1];
    struct turn *first_turn;
    struct turn *last_turn;
    struct deferred *released;
    struct deferred *had_its_turn;
    unsigned released_count; /* in both of them */
};

int loop_init(struct loop *loop, struct hutch_error *err);
/* Runs until has_ended. */
int loop_run(struct loop *loop, struct hutch_error *err);

/* watch->fd is set. Returns 0, or -1 with errno. */
int loop_watch(struct loop *loop, struct watch *watch, uint32_t events);
/* The descriptor is this one's from now on, also when another has watched it. */
int loop_rewatch(struct loop *loop, struct watch *watch, uint32_t events);
/* Closes the descriptor, if there is one. */
void loop_close(struct watch *watch);

void loop_timer_set(struct loop *loop, struct timer *timer, uint64_t delay_us);
void loop_timer_unset(struct loop *loop, struct timer *timer);
void loop_turn(struct loop *loop, struct turn *turn);
/* When nothing else is to be done, or there are many. */
void loop_release(struct loop *loop, struct deferred *deferred);

#endif
