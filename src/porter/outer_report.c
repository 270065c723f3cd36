/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "porter/outer.h"
#include "util/own.h"

/* How long a command's end waits for a reader to take what the command has written. Later it is
 * told all the same, and the reader gets the rest when it reads. */
#define END_PATIENCE_US 500000

void outer_fail(struct outer *outer, uint32_t session, uint32_t stage, int os_errno)
{
    const struct init_message failed = {
        .type = INIT_FAILED, .stage = stage, .os_errno = os_errno, .session = session};
    tunnel_forget_session(&outer->tunnel, session);
    if (reports_add(&outer->reports, &failed, -1, 0) < 0)
        outer->tunnel.out.failed = true;
}

/* When it was, by our clock. */
static uint64_t time_of(uint64_t ago_us)
{
    uint64_t now = report_clock_us();
    return ago_us < now ? now - ago_us : now;
}

/* The one descriptor that comes out: the master of the terminal that was made for this command. */
static int take_terminal(struct outer *outer, const struct frame_parts *parts, int *ret_master)
{
    struct channel *channel = tunnel_find_terminal(&outer->tunnel, parts->message.session);
    *ret_master = -1;
    if (!parts->fd_count)
        return 0;
    if (parts->fd_count > 1 || parts->fds[0].kind != FRAME_FD_TERMINAL || !channel ||
        channel->number != parts->fds[0].channel || channel->master < 0)
        return -1;
    *ret_master = channel->master;
    channel->master = -1;
    return 0;
}

int outer_take_report(struct outer *outer, const struct frame *frame)
{
    struct frame_parts parts;
    uint64_t until_us = 0;
    int master = -1;
    if (frame_message_read(frame, &parts) < 0 || parts.blob_length)
        return -1;
    struct init_message *message = &parts.message;
    message->inline_length = 0;
    switch (message->type) {
    case INIT_SPAWNED:
        if (take_terminal(outer, &parts, &master) < 0)
            return -1;
        message->time_us = time_of(message->time_us);
        break;
    case INIT_EXITED:
        until_us = report_clock_us() + END_PATIENCE_US;
        break;
    case INIT_FAILED:
        tunnel_forget_session(&outer->tunnel, message->session);
        break;
    case INIT_GONE:
        break;
    default:
        return -1;
    }
    return reports_add(&outer->reports, message, master, until_us);
}

static bool is_busy(const void *context, uint32_t session)
{
    return tunnel_session_waits(context, session);
}

static int send_report(int socket, const struct report *report)
{
    struct iovec data = {(void *)(uintptr_t)&report->message, sizeof(report->message)};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr header = {.msg_iov = &data, .msg_iovlen = 1};
    if (report->fd >= 0) {
        memset(&control, 0, sizeof(control));
        header.msg_control = control.space;
        header.msg_controllen = sizeof(control.space);
        struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(rights), &report->fd, sizeof(int));
    }
    return sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -1 : 0;
}

void outer_send_reports(struct outer *outer)
{
    struct report *report;
    outer->keeper_waits = false;
    while (!outer->keeper_gone &&
           (report = reports_take(&outer->reports, is_busy, &outer->tunnel))) {
        if (send_report(outer->keeper, report) == 0) {
            report_free(report);
            continue;
        }
        outer->keeper_waits = errno == EAGAIN || errno == EINTR;
        outer->keeper_gone = !outer->keeper_waits;
        reports_put_back(&outer->reports, report);
        return;
    }
}
