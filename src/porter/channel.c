/* SPDX-License-Identifier: Apache-2.0 */
#include "porter/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIPE_USUAL_BYTES (64u << 10)
#define PIPE_LARGE_BYTES (256 << 10)
#define BLOCKING_CHUNK 4096 /* PIPE_BUF: a pipe that is ready for writing has room for it */

struct channel *channel_new(uint32_t number, uint32_t session, uint32_t kind)
{
    struct channel *channel = calloc(1, sizeof(*channel));
    if (!channel)
        return NULL;
    channel->number = number;
    channel->session = session;
    channel->kind = kind;
    channel->source = channel->target = channel->master = -1;
    channel->may_send = channel->may_arrive = FRAME_WINDOW;
    return channel;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

void channel_free(struct channel *channel)
{
    if (!channel)
        return;
    close_fd(&channel->source);
    close_fd(&channel->target);
    close_fd(&channel->master);
    free(channel->waiting);
    free(channel);
}

/* ---- from the source ------------------------------------------------------------------------- */

static void end_source(struct channel *channel, struct frame_queue *out)
{
    if (channel->source < 0)
        return;
    close_fd(&channel->source);
    frame_put(out, FRAME_CLOSE, channel->number, NULL, 0);
}

/* A producer that fills a pipe of the usual size gets a larger one: fewer turns for the same bytes.
 */
static void enlarge(struct channel *channel, size_t got)
{
    if (channel->is_enlarged || got < PIPE_USUAL_BYTES)
        return;
    channel->is_enlarged = true;
    (void)fcntl(channel->source, F_SETPIPE_SZ, PIPE_LARGE_BYTES);
}

static int read_chunk(struct channel *channel, struct frame_queue *out, int64_t allowed)
{
    size_t room = allowed < (int64_t)FRAME_DATA_MAX ? (size_t)allowed : FRAME_DATA_MAX;
    uint8_t *place = frame_begin(out, room);
    ssize_t got;
    if (!place)
        return -1;
    do
        got = read(channel->source, place, room);
    while (got < 0 && errno == EINTR);
    if (got < 0 && errno == EAGAIN)
        return 0;
    if (got <= 0) { /* EIO: the last holder of a terminal's other side has gone */
        end_source(channel, out);
        return -1;
    }
    frame_commit(out, FRAME_DATA, channel->number, (uint32_t)got);
    channel->may_send -= got;
    enlarge(channel, (size_t)got);
    return 1;
}

int channel_read(struct channel *channel, struct frame_queue *out)
{
    if (channel->source < 0)
        return -1;
    return channel->may_send > 0 ? read_chunk(channel, out, channel->may_send) : 0;
}

bool channel_drain(struct channel *channel, struct frame_queue *out)
{
    const int64_t floor = -(int64_t)FRAME_OVERDRAFT;
    while (channel->source >= 0 && channel->may_send > floor)
        if (read_chunk(channel, out, channel->may_send - floor) <= 0)
            break;
    return channel->source < 0;
}

/* ---- to the target --------------------------------------------------------------------------- */

void channel_lose_target(struct channel *channel, struct frame_queue *out)
{
    if (channel->target < 0)
        return;
    close_fd(&channel->target);
    free(channel->waiting);
    channel->waiting = NULL;
    channel->waiting_start = channel->waiting_length = channel->waiting_capacity = 0;
    frame_put(out, FRAME_GONE, channel->number, NULL, 0);
}

/* Leave for half a window at a time, so that it costs little and the other side never stops while
 * the target keeps up. */
static void allow_more(struct channel *channel, size_t written, struct frame_queue *out)
{
    channel->taken += (uint32_t)written;
    if (channel->taken < FRAME_WINDOW / 2 || channel->target_ends)
        return;
    frame_put(out, FRAME_WINDOW_ADD, channel->number, &channel->taken, sizeof(channel->taken));
    channel->may_arrive += channel->taken;
    channel->taken = 0;
}

/* How much the target took; less than all of it when it has no room now. */
static size_t write_some(struct channel *channel, const uint8_t *data, size_t length,
                         struct frame_queue *out)
{
    size_t done = 0;
    while (done < length) {
        size_t chunk = length - done;
        if (channel->target_blocks && chunk > BLOCKING_CHUNK)
            chunk = BLOCKING_CHUNK;
        ssize_t written = write(channel->target, data + done, chunk);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0 && errno == EAGAIN)
            break;
        if (written < 0) {
            channel_lose_target(channel, out);
            return length;
        }
        done += (size_t)written;
        if (channel->target_blocks)
            break;
    }
    allow_more(channel, done, out);
    return done;
}

static int keep_waiting(struct channel *channel, const uint8_t *data, size_t length)
{
    size_t need = channel->waiting_length + length;
    if (channel->waiting_start) {
        memmove(channel->waiting, channel->waiting + channel->waiting_start,
                channel->waiting_length);
        channel->waiting_start = 0;
    }
    if (need > channel->waiting_capacity) {
        size_t capacity = need > FRAME_WINDOW ? need : FRAME_WINDOW;
        uint8_t *more = realloc(channel->waiting, capacity);
        if (!more)
            return -1;
        channel->waiting = more;
        channel->waiting_capacity = capacity;
    }
    memcpy(channel->waiting + channel->waiting_length, data, length);
    channel->waiting_length = need;
    return 0;
}

void channel_write(struct channel *channel, struct frame_queue *out)
{
    if (channel->target < 0)
        return;
    if (channel->waiting_length) {
        size_t done = write_some(channel, channel->waiting + channel->waiting_start,
                                 channel->waiting_length, out);
        if (channel->target < 0)
            return;
        channel->waiting_start += done;
        channel->waiting_length -= done;
    }
    if (channel->waiting_length)
        return;
    free(channel->waiting); /* most channels never have anything waiting */
    channel->waiting = NULL;
    channel->waiting_start = channel->waiting_capacity = 0;
    if (channel->target_ends)
        close_fd(&channel->target);
}

/* ---- what the other side says ---------------------------------------------------------------- */

static int fail_protocol(void)
{
    errno = EPROTO;
    return -1;
}

static int take_data(struct channel *channel, const struct frame *frame, struct frame_queue *out)
{
    size_t done = 0;
    channel->may_arrive -= frame->length;
    if (channel->target_ends || channel->may_arrive < -(int64_t)FRAME_OVERDRAFT)
        return fail_protocol();
    if (channel->target < 0) /* it was told GONE, or is about to be */
        return 0;
    if (!channel->waiting_length && !channel->target_blocks)
        done = write_some(channel, frame->data, frame->length, out);
    return done < frame->length && channel->target >= 0
               ? keep_waiting(channel, frame->data + done, frame->length - done)
               : 0;
}

static int take_leave(struct channel *channel, const struct frame *frame)
{
    uint32_t more;
    memcpy(&more, frame->data, sizeof(more));
    channel->may_send += more;
    return channel->may_send > (int64_t)FRAME_WINDOW ? fail_protocol() : 0;
}

int channel_take(struct channel *channel, const struct frame *frame, struct frame_queue *out)
{
    switch (frame->type) {
    case FRAME_DATA:
        return take_data(channel, frame, out);
    case FRAME_CLOSE:
        if (channel->target_ends)
            return fail_protocol();
        channel->target_ends = true;
        channel_write(channel, out);
        return 0;
    case FRAME_GONE:
        end_source(channel, out);
        return 0;
    case FRAME_WINDOW_ADD:
        return take_leave(channel, frame);
    default:
        return fail_protocol();
    }
}
