/* SPDX-License-Identifier: Apache-2.0 */
/* A channel of the tunnel: one descriptor's bytes, at either end.
 *
 * Each end has a descriptor that it reads and sends (source), one into which it writes what arrives
 * (target), or, for a terminal, both. An end of the source is told by CLOSE, an end of the target
 * by GONE. The channel is over when both are closed. */
#ifndef HUTCH_PORTER_CHANNEL_H
#define HUTCH_PORTER_CHANNEL_H

#include "porter/frame.h"

struct channel {
    uint32_t number;
    uint32_t session;   /* whose command's it is */
    uint32_t kind;      /* enum frame_fd_kind */
    int source;         /* negative: nothing is sent, or no more */
    int target;         /* negative: nothing is awaited, or no more */
    bool is_reserved;   /* a terminal that is being made */
    bool target_blocks; /* it could not be made non-blocking: little at a time, after a poll */
    bool target_ends;   /* CLOSE has arrived: closed once nothing is waiting */
    bool is_enlarged;   /* the source's pipe */
    int64_t may_send;   /* by the other side's leave; negative after an overdraft */
    int64_t may_arrive; /* by ours */
    uint32_t taken;     /* written to the target, and not allowed again yet */
    uint8_t *waiting;   /* arrived, but the target has no room */
    size_t waiting_start;
    size_t waiting_length;
    size_t waiting_capacity;
    int master;    /* of a terminal outside, until the keeper has it; negative: none */
    uint16_t rows; /* of a terminal outside, as last told */
    uint16_t columns;
};

struct channel *channel_new(uint32_t number, uint32_t session, uint32_t kind);
/* Closes what is open. */
void channel_free(struct channel *channel);

static inline bool channel_is_over(const struct channel *channel)
{
    return channel->source < 0 && channel->target < 0 && !channel->is_reserved;
}

/* One chunk of the source. 1: there may be more; 0: not now; -1: it has ended. */
int channel_read(struct channel *channel, struct frame_queue *out);
/* All that is in the source now, allowed or not. True: it has ended. */
bool channel_drain(struct channel *channel, struct frame_queue *out);
/* Writes what is waiting, and gives leave to send more. */
void channel_write(struct channel *channel, struct frame_queue *out);
/* Nobody reads the target any more. */
void channel_lose_target(struct channel *channel, struct frame_queue *out);
/* A frame of this channel. -1 with errno: the other side has broken the rules, or there is no
 * memory. */
int channel_take(struct channel *channel, const struct frame *frame, struct frame_queue *out);

#endif
