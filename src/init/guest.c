/* SPDX-License-Identifier: Apache-2.0 */
/* hutch-init in a container that some engine has made: the tunnel's inner end.
 *
 * Theory of operation. The engine has built the container and started this program in it, as an
 * ordinary user without capabilities; its standard input and output lead to a porter outside. PID
 * 1's loop (main.c) is the one of native sandboxes: it has a socket to somebody who gives orders
 * with descriptors. Here that somebody is a second thread, which turns frames into orders and
 * descriptors into channels (porter/frame.h).
 *
 * A thread, not a process: every command runs under the same user id as this program and could kill
 * or stop a process that is not PID 1. Nobody inside can trace or read it, for it is not dumpable.
 *
 * It ends with the tunnel: end-of-file there, a frame that is none, FRAME_END, or silence. Then
 * this whole process ends, and with it, by the kernel, every process of its pid namespace. Where it
 * is not the namespace's first process it has made itself the one that orphans fall to, and kills
 * them. */
#include "init/guest.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "init/init.h"
#include "init/sys.h"

/* A command's pipes are closed by PID 1 at about the time when its end is reported. */
#define END_PATIENCE_US 5000
#define REPORTS_AT_ONCE 64

enum { PLACE_IN, PLACE_OUT, PLACE_SOCKET, PLACE_COUNT };

static _Noreturn void end_everything(void)
{
    if (getpid() != 1)
        guard_kill_all();
    _exit(0);
}

/* ---- what PID 1 reports ---------------------------------------------------------------------- */

/* The master of a terminal, for the channel that was reserved for it. */
static void take_terminal(struct guest *guest, uint32_t session, int master)
{
    struct channel *channel = tunnel_find_terminal(&guest->tunnel, session);
    int twin = channel && channel->is_reserved ? fcntl(master, F_DUPFD_CLOEXEC, 0) : -1;
    if (twin < 0) {
        close(master);
        return;
    }
    (void)fcntl(master, F_SETFL, O_NONBLOCK);
    channel->source = master;
    channel->target = twin;
    channel->is_reserved = false;
}

/* 1: a report; 0: none now; -1: there will be none. */
static int receive_report(struct guest *guest, struct init_message *ret_message, int *ret_fd)
{
    struct iovec data = {ret_message, sizeof(*ret_message)};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr header = {.msg_iov = &data,
                            .msg_iovlen = 1,
                            .msg_control = control.space,
                            .msg_controllen = sizeof(control.space)};
    ssize_t got = recvmsg(guest->socket, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (got != (ssize_t)sizeof(*ret_message))
        return -1;
    struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
    *ret_fd = -1;
    if (rights && rights->cmsg_type == SCM_RIGHTS)
        memcpy(ret_fd, CMSG_DATA(rights), sizeof(int));
    return 1;
}

static int hear(struct guest *guest)
{
    struct init_message message;
    int fd = -1, heard = 0;
    for (int i = 0; i < REPORTS_AT_ONCE && !tunnel_is_full(&guest->tunnel); i++) {
        uint64_t until_us = 0;
        heard = receive_report(guest, &message, &fd);
        if (heard <= 0)
            break;
        if (fd >= 0)
            take_terminal(guest, message.session, fd);
        if (message.type == INIT_FAILED) {
            tunnel_forget_session(&guest->tunnel, message.session);
            guest->open_inputs = 0;
        }
        if (message.type == INIT_EXITED) {
            tunnel_drain_session(&guest->tunnel, message.session);
            until_us = report_clock_us() + END_PATIENCE_US;
        }
        if (reports_add(&guest->reports, &message, -1, until_us) < 0)
            return -1;
    }
    return heard;
}

static bool is_busy(const void *context, uint32_t session)
{
    return tunnel_session_reads(context, session);
}

static void send_report(struct guest *guest, const struct init_message *message)
{
    struct frame_parts parts = {.message = *message};
    const struct channel *terminal = message->type == INIT_SPAWNED
                                         ? tunnel_find_terminal(&guest->tunnel, message->session)
                                         : NULL;
    /* clocks differ between machines, and between a kernel and one that is emulated */
    if (message->type == INIT_SPAWNED)
        parts.message.time_us = report_clock_us() - message->time_us;
    if (terminal && !terminal->is_reserved) {
        parts.fds[0] = (struct frame_fd){.kind = FRAME_FD_TERMINAL, .channel = terminal->number};
        parts.fd_count = 1;
    }
    frame_put_message(&guest->tunnel.out, &parts);
}

static void send_reports(struct guest *guest)
{
    struct report *report;
    while ((report = reports_take(&guest->reports, is_busy, &guest->tunnel))) {
        send_report(guest, &report->message);
        report_free(report);
    }
}

/* ---- the end --------------------------------------------------------------------------------- */

/* What the pipes hold is sent, and everything that was to be said; as long as somebody hears it. */
static _Noreturn void say_the_rest(struct guest *guest)
{
    struct frame_queue *out = &guest->tunnel.out;
    tunnel_drain_session(&guest->tunnel, 0);
    for (size_t i = 0; i < guest->tunnel.count; i++)
        channel_lose_target(guest->tunnel.channels[i], out);
    while (guest->reports.first) {
        struct report *report = guest->reports.first;
        guest->reports.first = report->next;
        send_report(guest, &report->message);
        report_free(report);
    }
    guest_send_counters(guest, true);
    while (frame_queue_length(out) && !out->failed) {
        ssize_t sent = write(guest->out, out->data + out->start, frame_queue_length(out));
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            break;
        if (sent >= 0) {
            frame_queue_sent(out, (size_t)sent);
            continue;
        }
        struct pollfd ends[] = {{.fd = guest->out, .events = POLLOUT}, {.fd = guest->in}};
        (void)poll(ends, 2, -1);
        if (ends[1].revents & (POLLHUP | POLLERR))
            break;
    }
    guest_hear_last_words(guest);
    end_everything();
}

/* ---- what the outside says ------------------------------------------------------------------- */

static int resize(struct guest *guest, const struct frame *frame)
{
    uint16_t size[2];
    const struct channel *channel = tunnel_find(&guest->tunnel, frame->channel);
    memcpy(size, frame->data, sizeof(size));
    if (channel && channel->kind == FRAME_FD_TERMINAL && channel->source >= 0)
        (void)ioctl(channel->source, TIOCSWINSZ,
                    &(struct winsize){.ws_row = size[0], .ws_col = size[1]});
    return 0;
}

static int take_frame(struct guest *guest, const struct frame *frame)
{
    struct frame_parts parts;
    switch (frame->type) {
    case FRAME_MESSAGE:
        return frame_message_read(frame, &parts) < 0 ? -1 : guest_pass_order(guest, &parts);
    case FRAME_RESIZE:
        return resize(guest, frame);
    case FRAME_COUNT:
        guest_send_counters(guest, false);
        return 0;
    case FRAME_END:
        guest->open_inputs = 0; /* it is the last that is said */
        say_the_rest(guest);
    case FRAME_ALIVE:
        return 0;
    case FRAME_HELLO:
    case FRAME_COUNTERS:
        return -1;
    case FRAME_CLOSE:
        guest->open_inputs -= guest->open_inputs > 0;
        return tunnel_take(&guest->tunnel, frame);
    default:
        return tunnel_take(&guest->tunnel, frame);
    }
}

/* A message always fits where the kernel says that there is room. */
static bool has_room(const struct guest *guest)
{
    struct pollfd room = {.fd = guest->socket, .events = POLLOUT};
    return poll(&room, 1, 0) == 1 && room.revents & POLLOUT;
}

static int take_frames(struct guest *guest)
{
    struct frame_reader *in = &guest->tunnel.in;
    struct frame frame;
    int found;
    guest->is_stalled = false;
    for (;;) {
        size_t before = in->start;
        found = frame_next(in, &frame);
        if (found <= 0)
            return found;
        if (frame.type == FRAME_MESSAGE && !has_room(guest)) {
            in->start = before; /* PID 1 is busy starting commands */
            guest->is_stalled = true;
            return 0;
        }
        if (take_frame(guest, &frame) < 0)
            return -1;
    }
}

static int read_frames(struct guest *guest)
{
    size_t room;
    uint8_t *place = frame_reader_room(&guest->tunnel.in, &room);
    ssize_t got = place ? read(guest->in, place, room) : -1;
    if (got < 0 && place && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (got <= 0)
        return -1;
    guest->has_heard = true;
    guest->heard_us = report_clock_us();
    frame_reader_filled(&guest->tunnel.in, (size_t)got);
    return take_frames(guest);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static int send_frames(struct guest *guest)
{
    struct frame_queue *out = &guest->tunnel.out;
    if (out->failed)
        return -1;
    while (frame_queue_length(out)) {
        ssize_t sent = write(guest->out, out->data + out->start, frame_queue_length(out));
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return errno == EAGAIN ? 0 : -1;
        frame_queue_sent(out, (size_t)sent);
    }
    return 0;
}

static uint64_t patience_ends_us(const struct guest *guest)
{
    return guest->heard_us + (guest->has_heard ? FRAME_PATIENCE_US : FRAME_FIRST_PATIENCE_US);
}

static int pause_ms(const struct guest *guest)
{
    uint64_t next = reports_next_us(&guest->reports);
    uint64_t silence = patience_ends_us(guest);
    uint64_t now = report_clock_us();
    if (!guest->is_stalled && silence < next)
        next = silence;
    if (next == UINT64_MAX)
        return -1;
    return next > now ? (int)((next - now + 999) / 1000) : 0;
}

static int turn(struct guest *guest)
{
    struct tunnel *tunnel = &guest->tunnel;
    int count = tunnel_gather(tunnel, PLACE_COUNT);
    if (count < 0)
        return -1;
    bool is_full = tunnel_is_full(tunnel);
    struct pollfd *fds = tunnel->fds;
    fds[PLACE_IN] = (struct pollfd){guest->is_stalled ? -1 : guest->in, POLLIN, 0};
    fds[PLACE_OUT] =
        (struct pollfd){frame_queue_length(&tunnel->out) ? guest->out : -1, POLLOUT, 0};
    fds[PLACE_SOCKET] = (struct pollfd){
        guest->socket, (short)((is_full ? 0 : POLLIN) | (guest->is_stalled ? POLLOUT : 0)), 0};
    if (poll(fds, (nfds_t)count, pause_ms(guest)) < 0)
        return errno == EINTR ? 0 : -1;
    short in = fds[PLACE_IN].revents, socket = fds[PLACE_SOCKET].revents;
    /* one that was paused for long finds what was said meanwhile */
    if (!in && !guest->is_stalled && report_clock_us() >= patience_ends_us(guest))
        return -1;
    tunnel_serve(tunnel, PLACE_COUNT, (size_t)count);
    if (socket & (POLLIN | POLLHUP) && !is_full && hear(guest) < 0)
        say_the_rest(guest);
    if ((in && read_frames(guest) < 0) ||
        (guest->is_stalled && socket & POLLOUT && take_frames(guest) < 0))
        return -1;
    send_reports(guest);
    tunnel_sweep(tunnel);
    return send_frames(guest);
}

static void *inner_end(void *context)
{
    struct guest *guest = context;
    while (turn(guest) == 0)
        ;
    end_everything();
}

static void say_hello(struct guest *guest)
{
    struct frame_hello hello = {.version = FRAME_VERSION, .uid = getuid(), .gid = getgid()};
    const char *home = getenv("HOME");
    size_t length = home ? strlen(home) : 0;
    if (length < sizeof(hello.home))
        memcpy(hello.home, home ? home : "", length);
    frame_put(&guest->tunnel.out, FRAME_HELLO, 0, &hello, sizeof(hello));
}

/* ---- the beginning --------------------------------------------------------------------------- */

static bool core_dumps_are_piped(void)
{
    char first = 0;
    int fd = open("/proc/sys/kernel/core_pattern", O_RDONLY | O_CLOEXEC);
    bool are_piped = fd >= 0 && read(fd, &first, 1) == 1 && first == '|';
    if (fd >= 0)
        close(fd);
    return are_piped;
}

/* The streams move to numbers that no command gets; 0 to 3 are a socket of PID 1's, as natively. */
static int arrange_descriptors(struct guest *guest)
{
    int ends[2];
    guest->in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, INIT_SOCKET_FD + 1);
    guest->out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, INIT_SOCKET_FD + 1);
    if (guest->in < 0 || guest->out < 0 || fcntl(guest->in, F_SETFL, O_NONBLOCK) < 0 ||
        fcntl(guest->out, F_SETFL, O_NONBLOCK) < 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -1;
    guest->socket = fcntl(ends[1], F_DUPFD_CLOEXEC, INIT_SOCKET_FD + 1);
    close(ends[1]);
    for (int fd = 0; fd <= INIT_SOCKET_FD; fd++)
        if (ends[0] != fd && dup2(ends[0], fd) < 0)
            return -1;
    if (ends[0] > INIT_SOCKET_FD)
        close(ends[0]);
    return guest->socket;
}

static int start_thread(struct guest *guest)
{
    pthread_t thread;
    say_hello(guest);
    if (send_frames(guest) < 0)
        return -1;
    errno = pthread_create(&thread, NULL, inner_end, guest);
    return errno ? -1 : pthread_detach(thread);
}

int guest_begin(void)
{
    static struct guest guest; /* the thread's alone */
    const struct sched_param none = {0};
    guest.tunnel.in.message_max = FRAME_MESSAGE_MAX;
    guest.heard_us = report_clock_us();
    guest.core_dumps_are_piped = core_dumps_are_piped();
    (void)sys_close_from(INIT_SOCKET_FD);
    int said = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, INIT_SOCKET_FD + 1);
    if (prctl(PR_SET_DUMPABLE, 0) < 0 || arrange_descriptors(&guest) < 0 ||
        (getpid() != 1 && prctl(PR_SET_CHILD_SUBREAPER, 1) < 0) || start_thread(&guest) < 0) {
        (void)dprintf(said, "hutch-init cannot begin: %s\n", strerror(errno));
        return -1;
    }
    (void)syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &none);
    return close(said);
}

void guest_finish(void)
{
    (void)shutdown(INIT_SOCKET_FD, SHUT_RDWR); /* guards have it too: closing it says nothing */
    for (;;)
        pause();
}
