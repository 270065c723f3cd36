/* SPDX-License-Identifier: Apache-2.0 */
#include "porter/tunnel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- the channels ---------------------------------------------------------------------------- */

/* Where it is, or would be. */
static size_t place_of(const struct tunnel *tunnel, uint32_t number)
{
    size_t low = 0, high = tunnel->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (tunnel->channels[middle]->number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct channel *tunnel_find(const struct tunnel *tunnel, uint32_t number)
{
    size_t place = place_of(tunnel, number);
    bool is_there = place < tunnel->count && tunnel->channels[place]->number == number;
    return is_there ? tunnel->channels[place] : NULL;
}

struct channel *tunnel_find_terminal(const struct tunnel *tunnel, uint32_t session)
{
    for (size_t i = 0; i < tunnel->count; i++)
        if (tunnel->channels[i]->session == session &&
            tunnel->channels[i]->kind == FRAME_FD_TERMINAL)
            return tunnel->channels[i];
    return NULL;
}

static int make_room(struct tunnel *tunnel)
{
    if (tunnel->count < tunnel->capacity)
        return 0;
    size_t capacity = tunnel->capacity ? tunnel->capacity * 2 : 32;
    struct channel **more = realloc(tunnel->channels, capacity * sizeof(struct channel *));
    if (!more)
        return -1;
    tunnel->channels = more;
    tunnel->capacity = capacity;
    return 0;
}

struct channel *tunnel_open(struct tunnel *tunnel, uint32_t number, uint32_t session, uint32_t kind)
{
    if (number <= tunnel->last_number) {
        errno = EPROTO;
        return NULL;
    }
    if (tunnel->count == FRAME_MAX_CHANNELS) {
        errno = EMFILE;
        return NULL;
    }
    struct channel *channel = make_room(tunnel) < 0 ? NULL : channel_new(number, session, kind);
    if (!channel)
        return NULL;
    tunnel->last_number = number;
    tunnel->channels[tunnel->count++] = channel;
    return channel;
}

int tunnel_take(struct tunnel *tunnel, const struct frame *frame)
{
    struct channel *channel = tunnel_find(tunnel, frame->channel);
    if (channel)
        return channel_take(channel, frame, &tunnel->out);
    if (frame->channel <= tunnel->last_number)
        return 0; /* it was on its way when the channel ended */
    errno = EPROTO;
    return -1;
}

/* ---- all channels of a command --------------------------------------------------------------- */

bool tunnel_session_reads(const struct tunnel *tunnel, uint32_t session)
{
    for (size_t i = 0; i < tunnel->count; i++)
        if (tunnel->channels[i]->session == session && tunnel->channels[i]->source >= 0)
            return true;
    return false;
}

bool tunnel_session_waits(const struct tunnel *tunnel, uint32_t session)
{
    for (size_t i = 0; i < tunnel->count; i++)
        if (tunnel->channels[i]->session == session && tunnel->channels[i]->waiting_length)
            return true;
    return false;
}

void tunnel_drain_session(struct tunnel *tunnel, uint32_t session)
{
    for (size_t i = 0; i < tunnel->count; i++)
        if (!session || tunnel->channels[i]->session == session)
            (void)channel_drain(tunnel->channels[i], &tunnel->out);
}

static void keep_if(struct tunnel *tunnel, bool (*is_kept)(const struct channel *, uint32_t),
                    uint32_t session)
{
    size_t kept = 0;
    for (size_t i = 0; i < tunnel->count; i++) {
        if (is_kept(tunnel->channels[i], session))
            tunnel->channels[kept++] = tunnel->channels[i];
        else
            channel_free(tunnel->channels[i]);
    }
    tunnel->count = kept;
}

static bool is_of_another(const struct channel *channel, uint32_t session)
{
    return channel->session != session;
}

static bool is_alive(const struct channel *channel, uint32_t session)
{
    (void)session;
    return !channel_is_over(channel);
}

void tunnel_forget_session(struct tunnel *tunnel, uint32_t session)
{
    keep_if(tunnel, is_of_another, session);
}

void tunnel_sweep(struct tunnel *tunnel)
{
    keep_if(tunnel, is_alive, 0);
}

/* ---- the poll -------------------------------------------------------------------------------- */

static struct pollfd watch_source(const struct tunnel *tunnel, const struct channel *channel)
{
    bool may_read = channel->may_send > 0 && !tunnel_is_full(tunnel);
    return (struct pollfd){.fd = may_read ? channel->source : -1, .events = POLLIN};
}

/* With nothing to write only its end is of interest. */
static struct pollfd watch_target(const struct channel *channel)
{
    return (struct pollfd){.fd = channel->target, .events = channel->waiting_length ? POLLOUT : 0};
}

int tunnel_gather(struct tunnel *tunnel, size_t fixed)
{
    size_t need = fixed + 2 * tunnel->count;
    if (need > tunnel->fd_capacity) {
        struct pollfd *more = realloc(tunnel->fds, 2 * need * sizeof(*more));
        if (!more)
            return -1;
        tunnel->fds = more;
        tunnel->fd_capacity = 2 * need;
    }
    for (size_t i = 0; i < tunnel->count; i++) {
        tunnel->fds[fixed + 2 * i] = watch_source(tunnel, tunnel->channels[i]);
        tunnel->fds[fixed + 2 * i + 1] = watch_target(tunnel->channels[i]);
    }
    return (int)need;
}

void tunnel_serve(struct tunnel *tunnel, size_t fixed, size_t count)
{
    for (size_t i = 0; i < tunnel->count && fixed + 2 * i + 1 < count; i++) {
        struct channel *channel = tunnel->channels[i];
        short source = tunnel->fds[fixed + 2 * i].revents;
        short target = tunnel->fds[fixed + 2 * i + 1].revents;
        if (source)
            (void)channel_read(channel, &tunnel->out);
        if (target & (POLLERR | POLLHUP | POLLNVAL))
            channel_lose_target(channel, &tunnel->out);
        else if (target)
            channel_write(channel, &tunnel->out);
    }
    tunnel_sweep(tunnel);
}

void tunnel_done(struct tunnel *tunnel)
{
    for (size_t i = 0; i < tunnel->count; i++)
        channel_free(tunnel->channels[i]);
    free(tunnel->channels);
    free(tunnel->fds);
    frame_reader_done(&tunnel->in);
    frame_queue_done(&tunnel->out);
    *tunnel = (struct tunnel){0};
}
