/* SPDX-License-Identifier: Apache-2.0 */
/* One poll over the container's stream, the keeper, and the descriptors that came from the keeper.
 * Nothing waits for anything else: a command whose reader is slow has its own channel stopped, by
 * the leave that it is not given, and the stream itself is always read. */
#include "porter/outer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* After the end: how long a reader may take for its next bytes. */
#define READER_PATIENCE_MS 1000
#define PIPE_LARGE_BYTES (1 << 20)
#define READS_AT_ONCE 16 /* then the others have their turn */

enum { PLACE_READ, PLACE_WRITE, PLACE_KEEPER, PLACE_CONTROL, PLACE_COUNT };

void outer_init(struct outer *outer, const struct container_ops *ops, struct container *container,
                int keeper, int control)
{
    *outer =
        (struct outer){.ops = ops, .container = container, .keeper = keeper, .control = control};
    outer->tunnel.in.message_max = FRAME_REPORT_MAX;
    outer->look_us = outer->alive_us = UINT64_MAX;
}

void outer_done(struct outer *outer)
{
    tunnel_done(&outer->tunnel);
    reports_done(&outer->reports);
}

/* ---- the stream ------------------------------------------------------------------------------ */

static int take_hello(struct outer *outer, const struct frame *frame)
{
    if (frame->type != FRAME_HELLO)
        return -1;
    memcpy(&outer->hello, frame->data, sizeof(outer->hello));
    outer->hello.home[sizeof(outer->hello.home) - 1] = '\0';
    outer->has_hello = true;
    outer->alive_us = 0;
    return outer->hello.version == FRAME_VERSION ? 0 : -1;
}

/* Whoever has got hold of the inner end may say anything. */
static int take_frame(struct outer *outer, const struct frame *frame)
{
    if (!outer->has_hello)
        return take_hello(outer, frame);
    switch (frame->type) {
    case FRAME_MESSAGE:
        return outer_take_report(outer, frame);
    case FRAME_COUNTERS:
        memcpy(&outer->counters, frame->data, sizeof(outer->counters));
        outer->has_counters = true;
        return 0;
    case FRAME_DATA:
    case FRAME_CLOSE:
    case FRAME_GONE:
    case FRAME_WINDOW_ADD:
        return tunnel_take(&outer->tunnel, frame);
    default:
        return -1;
    }
}

static void take_frames(struct outer *outer)
{
    struct frame frame;
    int found;
    while ((found = frame_next(&outer->tunnel.in, &frame)) > 0)
        if (take_frame(outer, &frame) < 0) {
            found = -1;
            break;
        }
    outer->is_broken |= found < 0;
}

static void read_stream(struct outer *outer)
{
    for (int i = 0; i < READS_AT_ONCE && !outer->is_broken; i++) {
        size_t room;
        uint8_t *place = frame_reader_room(&outer->tunnel.in, &room);
        ssize_t got = place ? outer->ops->read(outer->container, place, room) : -1;
        if (got < 0 && place && (errno == EAGAIN || errno == EINTR))
            return;
        if (got <= 0) {
            outer->stream_ended = true;
            return;
        }
        frame_reader_filled(&outer->tunnel.in, (size_t)got);
        take_frames(outer);
        if ((size_t)got < room && !outer->ops->has_pending(outer->container))
            return;
    }
}

/* A container that reads no more is about to end: its stream tells. */
static void write_stream(struct outer *outer)
{
    struct frame_queue *out = &outer->tunnel.out;
    while (frame_queue_length(out)) {
        ssize_t sent =
            outer->ops->write(outer->container, out->data + out->start, frame_queue_length(out));
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno != EAGAIN)
            frame_queue_done(out);
        if (sent <= 0)
            return;
        frame_queue_sent(out, (size_t)sent);
    }
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void choose_watched(const struct outer *outer, struct pollfd *fds)
{
    bool is_full = tunnel_is_full(&outer->tunnel);
    int control = outer->is_deaf ? -1 : outer->control;
    short orders = is_full || outer->is_deaf ? 0 : POLLIN;
    fds[PLACE_READ] = (struct pollfd){
        outer->stream_ended ? -1 : outer->ops->read_fd(outer->container), POLLIN, 0};
    fds[PLACE_WRITE] =
        (struct pollfd){frame_queue_length(&outer->tunnel.out) && !outer->stream_ended
                            ? outer->ops->write_fd(outer->container)
                            : -1,
                        POLLOUT, 0};
    fds[PLACE_KEEPER] = (struct pollfd){outer->keeper_gone ? -1 : outer->keeper,
                                        (short)(orders | (outer->keeper_waits ? POLLOUT : 0)), 0};
    fds[PLACE_CONTROL] = (struct pollfd){control, POLLIN, 0};
}

static int pause_ms(struct outer *outer, uint64_t until_us)
{
    uint64_t held = reports_next_us(&outer->reports);
    uint64_t now = report_clock_us();
    uint64_t next = until_us < held ? until_us : held;
    next = next < outer->look_us ? next : outer->look_us;
    if (!outer->stream_ended)
        next = next < outer->alive_us ? next : outer->alive_us;
    if (!outer->stream_ended && outer->ops->has_pending(outer->container))
        return 0;
    if (next == UINT64_MAX)
        return -1;
    uint64_t ms = next > now ? (next - now + 999) / 1000 : 0;
    return ms < 60000 ? (int)ms : 60000;
}

/* A queue that is not empty says as much when it moves on. */
static void say_alive(struct outer *outer)
{
    uint64_t now = report_clock_us();
    if (now < outer->alive_us)
        return;
    if (!frame_queue_length(&outer->tunnel.out))
        frame_put(&outer->tunnel.out, FRAME_ALIVE, 0, NULL, 0);
    outer->alive_us = now + FRAME_ALIVE_PERIOD_US;
}

int outer_turn(struct outer *outer, uint64_t until_us, struct hutch_error *err)
{
    struct tunnel *tunnel = &outer->tunnel;
    int count = tunnel_gather(tunnel, PLACE_COUNT);
    if (count < 0)
        return hutch_fail_nomem(err);
    choose_watched(outer, tunnel->fds);
    if (poll(tunnel->fds, (nfds_t)count, pause_ms(outer, until_us)) < 0)
        return errno == EINTR ? 0 : hutch_fail_errno(err, errno, "wait for the container");
    struct pollfd fixed[PLACE_COUNT];
    memcpy(fixed, tunnel->fds, sizeof(fixed));
    outer_look_before_input(outer, PLACE_COUNT);
    tunnel_serve(tunnel, PLACE_COUNT, (size_t)count);
    if (fixed[PLACE_KEEPER].revents & POLLIN)
        outer_take_order(outer);
    else if (fixed[PLACE_KEEPER].revents & (POLLHUP | POLLERR))
        outer->keeper_gone = true;
    outer->has_question = fixed[PLACE_CONTROL].revents != 0;
    if (!outer->stream_ended &&
        (fixed[PLACE_READ].revents || outer->ops->has_pending(outer->container)))
        read_stream(outer);
    outer_send_reports(outer);
    tunnel_sweep(tunnel);
    outer->look_us = outer_look_at_terminals(outer);
    say_alive(outer);
    if (tunnel->out.failed)
        return hutch_fail_nomem(err);
    if (!outer->stream_ended)
        write_stream(outer);
    return 0;
}

/* ---- after the end --------------------------------------------------------------------------- */

static bool has_waiting(const struct tunnel *tunnel)
{
    for (size_t i = 0; i < tunnel->count; i++)
        if (tunnel->channels[i]->waiting_length)
            return true;
    return false;
}

/* What fits into a pipe is safe there, whatever becomes of this process. */
static void write_all_channels(struct tunnel *tunnel)
{
    for (size_t i = 0; i < tunnel->count; i++) {
        struct channel *channel = tunnel->channels[i];
        if (channel->waiting_length)
            (void)fcntl(channel->target, F_SETPIPE_SZ, PIPE_LARGE_BYTES);
        channel->target_ends = true; /* nothing comes any more */
        if (!channel->waiting_length || !channel->target_blocks)
            channel_write(channel, &tunnel->out);
        if (channel->source >= 0)
            (void)close(channel->source);
        channel->source = -1;
        channel->is_reserved = false;
    }
    tunnel_sweep(tunnel);
}

void outer_finish(struct outer *outer)
{
    struct tunnel *tunnel = &outer->tunnel;
    outer->stream_ended = outer->is_deaf = true;
    write_all_channels(tunnel);
    while (!outer->keeper_gone && has_waiting(tunnel)) {
        int count = tunnel_gather(tunnel, 0);
        if (count < 0 || poll(tunnel->fds, (nfds_t)count, READER_PATIENCE_MS) <= 0)
            break;
        tunnel_serve(tunnel, 0, (size_t)count);
        frame_queue_done(&tunnel->out); /* nobody hears it */
    }
    while (tunnel->count)
        channel_free(tunnel->channels[--tunnel->count]);
    for (struct report *report = outer->reports.first; report; report = report->next)
        report->until_us = 0;
    outer_send_reports(outer);
}
