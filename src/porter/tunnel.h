/* SPDX-License-Identifier: Apache-2.0 */
/* One end of the tunnel: its channels, and the frames that come and go. Whoever has it owns the
 * descriptors below it and the loop; nothing here waits. */
#ifndef HUTCH_PORTER_TUNNEL_H
#define HUTCH_PORTER_TUNNEL_H

#include <poll.h>

#include "porter/channel.h"

/* With so much on its way out nothing is read that would add to it. */
#define TUNNEL_OUT_FULL (256u << 10)

struct tunnel {
    struct frame_reader in;
    struct frame_queue out;
    struct channel **channels; /* by number, upwards */
    size_t count;
    size_t capacity;
    uint32_t last_number; /* the highest that a channel has had */
    struct pollfd *fds;
    size_t fd_capacity;
};

static inline bool tunnel_is_full(const struct tunnel *tunnel)
{
    return frame_queue_length(&tunnel->out) >= TUNNEL_OUT_FULL;
}

/* A new channel; NULL with errno when there are too many, or the number has been used. */
struct channel *tunnel_open(struct tunnel *tunnel, uint32_t number, uint32_t session,
                            uint32_t kind);
struct channel *tunnel_find(const struct tunnel *tunnel, uint32_t number);
/* The terminal of a session; NULL when it has none. */
struct channel *tunnel_find_terminal(const struct tunnel *tunnel, uint32_t session);
/* A frame about a channel, except FRAME_RESIZE. -1 with errno: the tunnel is over. */
int tunnel_take(struct tunnel *tunnel, const struct frame *frame);

/* Is there a source that the command could still write to, or something that its targets have not
 * taken? */
bool tunnel_session_reads(const struct tunnel *tunnel, uint32_t session);
bool tunnel_session_waits(const struct tunnel *tunnel, uint32_t session);
/* Sends what is in its sources now; with 0 that of all sessions. */
void tunnel_drain_session(struct tunnel *tunnel, uint32_t session);
/* Its command was never started: its channels are gone without a word. */
void tunnel_forget_session(struct tunnel *tunnel, uint32_t session);

/* What to poll for: the first 'fixed' places are the caller's to fill. The number of places, or -1.
 */
int tunnel_gather(struct tunnel *tunnel, size_t fixed);
/* Acts on what poll has found, then forgets the channels that are over. */
void tunnel_serve(struct tunnel *tunnel, size_t fixed, size_t count);
void tunnel_sweep(struct tunnel *tunnel);
void tunnel_done(struct tunnel *tunnel);

#endif
