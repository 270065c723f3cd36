/* SPDX-License-Identifier: Apache-2.0 */
/* The tunnel's outer end: to the keeper it is PID 1, with real descriptors; to the container it
 * speaks frames. */
#ifndef HUTCH_PORTER_OUTER_H
#define HUTCH_PORTER_OUTER_H

#include "porter/container.h"
#include "porter/report.h"
#include "porter/tunnel.h"

struct outer {
    const struct container_ops *ops;
    struct container *container;
    int keeper;  /* socket */
    int control; /* socket for questions; negative: none */
    struct tunnel tunnel;
    struct reports reports;
    uint32_t last_channel;
    uint64_t look_us;  /* when the sizes of terminals are looked at next */
    uint64_t alive_us; /* when the inside is told next that somebody is there */

    struct frame_hello hello;
    bool has_hello;
    struct frame_counters counters; /* the last that came */
    bool has_counters;
    bool is_deaf;      /* the keeper's orders do not matter any more */
    bool keeper_waits; /* its socket has no room for a report */
    bool has_question; /* one can be read */
    bool stream_ended; /* the container's */
    bool is_broken;    /* what came out of it cannot be understood */
    bool keeper_gone;
    bool end_asked;
    int end_value; /* of PORTER_END */
};

void outer_init(struct outer *outer, const struct container_ops *ops, struct container *container,
                int keeper, int control);
/* Waits until something happens, at most until then (UINT64_MAX: for ever), and deals with it. */
int outer_turn(struct outer *outer, uint64_t until_us, struct hutch_error *err) HUTCH_MUST_CHECK;
/* The stream has ended: everything that has arrived reaches its reader, if there is one, and every
 * descriptor of the keeper's is closed. */
void outer_finish(struct outer *outer);
void outer_done(struct outer *outer);

/* outer_order.c: the next message of the keeper, if there is one. */
void outer_take_order(struct outer *outer);

/* outer_report.c: a message from inside, on its way to the keeper. -1: it cannot be understood. */
int outer_take_report(struct outer *outer, const struct frame *frame);
void outer_send_reports(struct outer *outer);
/* A command that cannot be started, said by us. */
void outer_fail(struct outer *outer, uint32_t session, uint32_t stage, int os_errno);

/* outer_terminal.c: a terminal whose other side the keeper gets. */
int outer_make_terminal(struct channel *channel, uint16_t rows, uint16_t columns);
/* A size that was set before something was typed is told before it: of the terminals of which poll
 * has found something, whose places come behind the fixed ones. */
void outer_look_before_input(struct outer *outer, size_t fixed);
/* Tells the inside of sizes that have changed. When to look again. */
uint64_t outer_look_at_terminals(struct outer *outer);

#endif
