/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/flow.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

/* What goes through a buffer before a pipe is worth its price. */
#define COPIED_FIRST 65536
#define PIPE_BYTES 524288

/* ---- sides ---- */

/* What a call on the socket has said of it. */
static ssize_t note(struct side *side, bool *is_ready, ssize_t result)
{
    if (result < 0 && errno == EAGAIN)
        *is_ready = false;
    else if (result < 0 && errno != EINTR)
        side->has_failed = true;
    return result;
}

ssize_t side_read(struct side *side, void *data, size_t length)
{
    return note(side, &side->is_readable,
                side->session ? side->tls->read(side->session, side->watch.fd, data, length)
                              : recv(side->watch.fd, data, length, MSG_DONTWAIT));
}

ssize_t side_write(struct side *side, const void *data, size_t length)
{
    return note(side, &side->is_writable,
                side->session ? side->tls->write(side->session, side->watch.fd, data, length)
                              : send(side->watch.fd, data, length, MSG_DONTWAIT | MSG_NOSIGNAL));
}

void side_leave(struct side *side)
{
    if (side->session)
        side->tls->release(side->session);
    side->session = NULL;
}

void side_reset(struct side *side)
{
    const struct linger now = {.l_onoff = 1, .l_linger = 0};
    side_leave(side);
    if (side->watch.fd >= 0)
        (void)setsockopt(side->watch.fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    loop_close(&side->watch);
}

/* ---- buffers ---- */

static struct hold *take_hold(struct holds *holds)
{
    struct hold *hold = holds->first;
    if (hold)
        holds->first = hold->next;
    else
        hold = malloc(sizeof(*hold));
    if (hold)
        hold->start = hold->end = 0;
    return hold;
}

void flow_give_back(struct flow *flow, struct holds *holds)
{
    if (!flow->hold)
        return;
    flow->hold->next = holds->first;
    holds->first = flow->hold;
    flow->hold = NULL;
}

void flow_init(struct flow *flow, struct side *from, struct side *to)
{
    *flow = (struct flow){.from = from, .to = to, .pipe = {HUTCH_NO_FD, HUTCH_NO_FD}};
}

/* An extra may have a secret in it. */
static void drop_extra(struct flow *flow)
{
    if (flow->extra)
        explicit_bzero(flow->extra, flow->extra_end);
    free(flow->extra);
    flow->extra = NULL;
    flow->extra_start = flow->extra_end = 0;
}

void flow_done(struct flow *flow, struct holds *holds)
{
    hutch_fd_close(&flow->pipe[0]);
    hutch_fd_close(&flow->pipe[1]);
    flow_give_back(flow, holds);
    drop_extra(flow);
}

bool flow_is_empty(const struct flow *flow)
{
    return !flow->hold && !flow->extra && !flow->in_pipe;
}

size_t flow_read(struct flow *flow, struct holds *holds, size_t max)
{
    if (flow->has_ended || !flow->from->is_readable)
        return 0;
    if (!flow->hold && !(flow->hold = take_hold(holds))) {
        flow->from->has_failed = true;
        return 0;
    }
    struct hold *hold = flow->hold;
    if (hold->start) {
        memmove(hold->bytes, hold->bytes + hold->start, hold->end - hold->start);
        hold->end -= hold->start;
        hold->start = 0;
    }
    if (max > HOLD_BYTES - hold->end)
        max = HOLD_BYTES - hold->end;
    if (!max)
        return 0;
    ssize_t got = side_read(flow->from, hold->bytes + hold->end, max);
    if (got > 0)
        hold->end += (size_t)got;
    /* Less than there was room for was all; whatever comes next is a new edge. */
    if (got > 0 && (size_t)got < max && !flow->from->may_end && !flow->from->session)
        flow->from->is_readable = false;
    if (got <= 0 && hold->start == hold->end)
        flow_give_back(flow, holds);
    flow->has_ended |= got == 0;
    return got > 0 ? (size_t)got : 0;
}

/* ---- passing on ---- */

static size_t write_extra(struct flow *flow)
{
    ssize_t put =
        side_write(flow->to, flow->extra + flow->extra_start, flow->extra_end - flow->extra_start);
    if (put <= 0)
        return 0;
    flow->extra_start += (size_t)put;
    if (flow->extra_start == flow->extra_end)
        drop_extra(flow);
    return (size_t)put;
}

static size_t write_cleared(struct flow *flow, struct holds *holds)
{
    struct hold *hold = flow->hold;
    ssize_t put = side_write(flow->to, hold->bytes + hold->start, flow->cleared);
    if (put <= 0)
        return 0;
    hold->start += (size_t)put;
    flow->cleared -= (size_t)put;
    if (hold->start == hold->end)
        flow_give_back(flow, holds);
    return (size_t)put;
}

static size_t write_pipe(struct flow *flow)
{
    unsigned flags = SPLICE_F_MOVE | SPLICE_F_NONBLOCK;
    ssize_t put = note(flow->to, &flow->to->is_writable,
                       splice(flow->pipe[0], NULL, flow->to->watch.fd, NULL, flow->in_pipe, flags));
    if (put <= 0)
        return 0;
    flow->in_pipe -= (size_t)put;
    return (size_t)put;
}

size_t flow_write(struct flow *flow, struct holds *holds)
{
    size_t total = 0;
    while (flow->to->watch.fd >= 0 && flow->to->is_writable && !flow->to->has_failed) {
        size_t put = flow->extra                   ? write_extra(flow)
                     : flow->cleared && flow->hold ? write_cleared(flow, holds)
                     : flow->in_pipe               ? write_pipe(flow)
                                                   : 0;
        if (!put)
            break;
        total += put;
    }
    flow->passed += total;
    return total;
}

/* ---- pipes ---- */

bool flow_can_splice(const struct flow *flow)
{
    return flow->open && !flow->hold && !flow->extra && flow->passed >= COPIED_FIRST &&
           !flow->from->session && !flow->to->session && flow->to->watch.fd >= 0;
}

size_t flow_splice(struct flow *flow, size_t max)
{
    if (flow->has_ended || !flow->from->is_readable || flow->in_pipe >= PIPE_BYTES)
        return 0;
    if (flow->pipe[0] < 0) {
        if (pipe2(flow->pipe, O_CLOEXEC | O_NONBLOCK) < 0) {
            flow->passed = 0; /* none to be had: by the buffer, then */
            return 0;
        }
        (void)fcntl(flow->pipe[0], F_SETPIPE_SZ, PIPE_BYTES);
    }
    unsigned flags = SPLICE_F_MOVE | SPLICE_F_NONBLOCK;
    ssize_t got = splice(flow->from->watch.fd, NULL, flow->pipe[1], NULL, max, flags);
    /* A full pipe says the same as an empty socket; only with an empty pipe it is the socket. */
    if (got < 0 && errno == EAGAIN && flow->in_pipe)
        return 0;
    (void)note(flow->from, &flow->from->is_readable, got);
    if (got > 0)
        flow->in_pipe += (size_t)got;
    flow->has_ended |= got == 0;
    return got > 0 ? (size_t)got : 0;
}

void flow_end(struct flow *flow)
{
    if (!flow->has_ended || flow->is_shut || !flow_is_empty(flow) || flow->to->watch.fd < 0)
        return;
    if (flow->to->session && !flow->to->tls->end(flow->to->session, flow->to->watch.fd))
        return;
    flow->is_shut = true;
    (void)shutdown(flow->to->watch.fd, SHUT_WR);
}
