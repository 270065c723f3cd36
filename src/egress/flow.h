/* SPDX-License-Identifier: Apache-2.0 */
/* One direction of a connection. What must be looked at goes through a buffer of the connection's
 * own; what need not be goes through a pipe, and is never copied. */
#ifndef HUTCH_EGRESS_FLOW_H
#define HUTCH_EGRESS_FLOW_H

#include "egress/loop.h"
#include "egress/tls.h"

#define HOLD_BYTES 32768

/* A socket, as the edges that epoll reports have left it. */
struct side {
    struct watch watch;
    bool is_readable;
    bool is_writable;
    bool has_failed;
    bool may_end;              /* its end has come, behind what is still to be read */
    const struct tls_ops *tls; /* with a session */
    void *session;
};

struct hold {
    struct hold *next; /* while nobody has it */
    size_t start;
    size_t end;
    char bytes[HOLD_BYTES];
};

struct flow {
    struct side *from;
    struct side *to;
    struct hold *hold; /* read, and not yet passed on */
    size_t cleared;    /* so many of its first bytes may go */
    char *extra;       /* goes before them; owned */
    size_t extra_start;
    size_t extra_end;
    int pipe[2];
    size_t in_pipe;
    uint64_t open;   /* so many may pass without being looked at */
    uint64_t passed; /* all that went on */
    bool has_ended;  /* there is nothing more to read */
    bool is_shut;    /* and who reads has been told */
};

/* Buffers that are not in use. */
struct holds {
    struct hold *first;
};

#define FLOW_OPEN UINT64_MAX

ssize_t side_read(struct side *side, void *data, size_t length);
ssize_t side_write(struct side *side, const void *data, size_t length);
/* Nothing more is said through it. */
void side_leave(struct side *side);
/* And who is at its other end finds out at once. */
void side_reset(struct side *side);

void flow_init(struct flow *flow, struct side *from, struct side *to);
void flow_done(struct flow *flow, struct holds *holds);

/* Bytes that are read into the buffer, at most max. 0: none now, or none any more (has_ended,
 * has_failed), or there is no room. */
size_t flow_read(struct flow *flow, struct holds *holds, size_t max);
/* What may go on, by either way. Returns how much did. */
size_t flow_write(struct flow *flow, struct holds *holds);
/* Bytes that are moved into the pipe, at most max. */
size_t flow_splice(struct flow *flow, size_t max);
bool flow_can_splice(const struct flow *flow);
/* The buffer, when there is nothing in it. */
void flow_give_back(struct flow *flow, struct holds *holds);
bool flow_is_empty(const struct flow *flow);
/* All that was read has gone on, and no more comes: then whoever reads is told. */
void flow_end(struct flow *flow);

#endif
