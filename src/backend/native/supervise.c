/* SPDX-License-Identifier: Apache-2.0 */
/* One poll loop from the moment PID 1 exists until every process of the sandbox is gone. Nothing in
 * it waits for anything but the poll, so every deadline holds; nothing in it needs PID 1's
 * co-operation to end it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backend/native/keeper.h"
#include "util/own.h"

/* After the command's end: how long a background process may still write into a pipe it holds. */
#define DRAIN_US 100000
#define NEVER UINT64_MAX

uint64_t now_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

void keeper_kill_all(const struct keeper *keeper)
{
    keeper->engine->kill(keeper);
}

void keeper_kill(struct keeper *keeper, enum hutch_reason reason)
{
    if (!keeper->killed && keeper->phase < PHASE_DRAINING) {
        keeper->killed = true;
        keeper->ended_by = reason;
        keeper->ended_us = now_us();
    }
    disk_look(keeper);
    keeper_kill_all(keeper);
}

static void reap(struct keeper *keeper)
{
    int status;
    struct rusage usage;
    pid_t got;
    do
        got = wait4(keeper->pid, &status, __WALL, &usage);
    while (got < 0 && errno == EINTR);
    if (got == keeper->pid && keeper->engine->is_parent)
        keeper->rusage_cpu_us =
            (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
            (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    keeper->pid = 0;
}

void keeper_end(struct keeper *keeper)
{
    if (keeper->pid > 0) {
        keeper_kill_all(keeper);
        keeper->engine->await_end(keeper);
        reap(keeper);
        keeper->phase = PHASE_ENDED;
    }
    gateway_end(&keeper->gateway);
}

/* PID 1 says when: by the time its word is heard a short command may be over. */
static void start_clock(struct keeper *keeper, uint64_t started_us)
{
    keeper->phase = PHASE_RUNNING;
    keeper->started_us = keeper->idle_since_us = started_us;
    keeper->deadline_us = keeper->started_us + keeper->spec->limits.timeout_ms * 1000;
    keeper->disk_check_us = keeper->started_us + 20000;
}

/* The terminal's master serves as stdout's source and, duplicated, as stdin's target. */
static void take_terminal(struct keeper *keeper, int master)
{
    (void)fcntl(master, F_SETFL, O_NONBLOCK);
    keeper->streams[0].source = master;
    keeper->terminal = fcntl(master, F_DUPFD_CLOEXEC, 0);
    keeper->feed.target = fcntl(master, F_DUPFD_CLOEXEC, 0);
}

static void fail_setup(struct keeper *keeper, const struct hutch_error *failure)
{
    keeper->failure = *failure;
    keeper->has_failure = true;
    keeper_kill_all(keeper);
}

/* Before the command has begun there is no run to tell of; afterwards the result has the cause. */
static void take_engine_report(struct keeper *keeper, const struct init_message *message, int *fds,
                               size_t fd_count)
{
    struct hutch_error failure = HUTCH_ERROR_INIT;
    enum engine_word word = keeper->engine->hear(keeper, message, fds, fd_count, &failure);
    if (word == ENGINE_NOTHING || keeper->killed || keeper->has_failure)
        return;
    if (word == ENGINE_READY && keeper_send_command(keeper, &failure) == 0)
        return;
    if (keeper->started_us) {
        keeper->artifacts_failure = failure;
        keeper_kill_all(keeper);
        return;
    }
    keeper->never_was = true;
    fail_setup(keeper, &failure);
}

static void take_message(struct keeper *keeper, const struct init_message *message, int *fds,
                         size_t fd_count)
{
    switch (message->type) {
    case INIT_SPAWNED:
        start_clock(keeper, message->time_us);
        plan_done(&keeper->plan); /* carried out; there is time now, unlike at the end */
        if (keeper->options->terminal_fd >= 0 && fd_count > 0) {
            take_terminal(keeper, *fds++);
            fd_count--;
        }
        keeper->writable = fd_count > 0 ? fds[0] : HUTCH_NO_FD;
        keeper->artifacts = fd_count > 1 ? fds[1] : HUTCH_NO_FD;
        break;
    case INIT_EXITED:
        keeper->has_status = true;
        keeper->status = message->value;
        if (keeper->phase != PHASE_RUNNING)
            break;
        keeper->phase = PHASE_DRAINING;
        keeper->ended_us = now_us();
        keeper->deadline_us = keeper->ended_us + DRAIN_US;
        keeper->others_left = message->others;
        if (!keeper->others_left) { /* final, and PID 1 is still busy with its own end */
            gateway_release(&keeper->gateway);
            keeper_read_usage(keeper);
        }
        disk_look(keeper);
        break;
    case INIT_FAILED:
        if (!keeper->has_failure)
            keeper_explain(keeper, message, keeper_command(keeper)->items[0],
                           keeper_workdir(keeper), &keeper->failure);
        keeper->has_failure = true;
        keeper_kill_all(keeper);
        break;
    default:
        take_engine_report(keeper, message, fds, fd_count);
        break;
    }
}

int keeper_hear(struct keeper *keeper, struct init_message *ret_report, int *ret_fds,
                size_t *ret_fd_count)
{
    struct iovec data = {ret_report, sizeof(*ret_report)};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int) * KEEPER_REPORT_FDS)];
    } control;
    struct msghdr header = {.msg_iov = &data,
                            .msg_iovlen = 1,
                            .msg_control = control.space,
                            .msg_controllen = sizeof(control.space)};
    *ret_fd_count = 0;
    ssize_t got = recvmsg(keeper->socket, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got < 0 && errno == ECONNRESET) /* said once, where it left orders unread; then its words */
        got = recvmsg(keeper->socket, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || (errno == EAGAIN && keeper->pid > 0)))
        return 0;
    if (got != (ssize_t)sizeof(*ret_report)) { /* its process is ending, the pidfd tells */
        hutch_fd_close(&keeper->socket);
        return -1;
    }
    struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
    if (rights && rights->cmsg_type == SCM_RIGHTS) {
        *ret_fd_count = (rights->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(ret_fds, CMSG_DATA(rights), *ret_fd_count * sizeof(int));
    }
    return 1;
}

static void read_message(struct keeper *keeper)
{
    struct init_message message;
    int fds[KEEPER_REPORT_FDS];
    size_t fd_count = 0;
    int heard = keeper_hear(keeper, &message, fds, &fd_count);
    if (heard > 0)
        take_message(keeper, &message, fds, fd_count);
    else if (heard < 0 && keeper->phase < PHASE_DRAINING)
        keeper_kill_all(keeper); /* or it has lost its senses */
}

static void resize_terminal(const struct keeper *keeper)
{
    char drained[1024];
    struct winsize size;
    (void)!read(keeper->options->resize_fd, drained, sizeof(drained));
    if (keeper->terminal >= 0 && ioctl(keeper->options->terminal_fd, TIOCGWINSZ, &size) == 0)
        (void)ioctl(keeper->terminal, TIOCSWINSZ, &size);
}

enum watched {
    W_PID,
    W_SOCKET,
    W_OUT,
    W_ERR,
    W_OUT_SINK,
    W_ERR_SINK,
    W_IN,
    W_IN_TARGET,
    W_CANCEL,
    W_RESIZE,
    W_GATEWAY,
    W_COUNT = W_GATEWAY + GATEWAY_FDS
};

/* PID 1 alone is left, and ends by itself: until then nothing needs to be looked at. What the
 * command wrote is in the pipes, see drain_rest. A porter still brings the rest of it. */
static bool is_over(const struct keeper *keeper)
{
    return keeper->engine->is_parent && keeper->phase == PHASE_DRAINING && !keeper->others_left &&
           !keeper->killed;
}

static void choose_watched(const struct keeper *keeper, struct pollfd *fds)
{
    for (size_t i = 0; i < W_COUNT; i++)
        fds[i] = (struct pollfd){.fd = -1};
    fds[W_PID] = (struct pollfd){keeper->pidfd, POLLIN, 0};
    if (is_over(keeper))
        return;
    fds[W_SOCKET] = (struct pollfd){keeper->socket, POLLIN, 0};
    for (size_t i = 0; i < 2; i++) {
        const struct stream *stream = &keeper->streams[i];
        if (sink_is_full(&stream->sink))
            fds[W_OUT_SINK + i] = (struct pollfd){stream->sink.fd, POLLOUT, 0};
        else
            fds[W_OUT + i] = (struct pollfd){stream->source, POLLIN, 0};
    }
    if (keeper->phase == PHASE_RUNNING) {
        const struct feed *feed = &keeper->feed;
        if (feed->length)
            fds[W_IN_TARGET] = (struct pollfd){feed->target, POLLOUT, 0};
        else if (feed_wants_input(feed))
            fds[W_IN] = (struct pollfd){feed->source, POLLIN, 0};
    }
    if (!keeper->killed)
        fds[W_CANCEL] = (struct pollfd){keeper->options->cancel_fd, POLLIN, 0};
    fds[W_RESIZE] = (struct pollfd){keeper->options->resize_fd, POLLIN, 0};
    gateway_watch(&keeper->gateway, fds + W_GATEWAY);
}

/* An open pipe that is only waiting for a slow reader of ours is not held by anybody inside. */
static bool pipes_held(const struct keeper *keeper)
{
    for (size_t i = 0; i < 2; i++)
        if (keeper->streams[i].source >= 0 && !sink_is_full(&keeper->streams[i].sink))
            return true;
    return false;
}

/* Acts on deadlines that have passed; returns the next one. */
static uint64_t check_own_deadlines(struct keeper *keeper)
{
    uint64_t now = now_us();
    uint64_t next = NEVER;
    uint64_t idle_us = keeper->spec->limits.idle_timeout_ms * 1000;
    if (keeper->killed || keeper->has_failure)
        return NEVER;
    if (now >= keeper->deadline_us) {
        if (keeper->phase == PHASE_DRAINING) {
            keeper->held_pipes = pipes_held(keeper);
            keeper->deadline_us = NEVER;
            keeper_kill_all(keeper);
        } else {
            keeper_kill(keeper, HUTCH_REASON_TIMEOUT);
        }
        return NEVER;
    }
    next = keeper->deadline_us;
    if (keeper->phase != PHASE_RUNNING)
        return next;
    if (idle_us && now >= keeper->idle_since_us + idle_us) {
        keeper_kill(keeper, HUTCH_REASON_IDLE_TIMEOUT);
        return NEVER;
    }
    if (idle_us && keeper->idle_since_us + idle_us < next)
        next = keeper->idle_since_us + idle_us;
    if (now >= keeper->disk_check_us)
        disk_look(keeper);
    return keeper->disk_check_us < next ? keeper->disk_check_us : next;
}

static uint64_t check_deadlines(struct keeper *keeper)
{
    uint64_t own = check_own_deadlines(keeper);
    uint64_t end = keeper->engine->hasten_end(keeper);
    uint64_t gateway = gateway_look(keeper);
    own = gateway < own ? gateway : own;
    return end < own ? end : own;
}

/* The command has ended and nobody holds its pipes any more: whatever else runs inside has no more
 * to say. */
static bool is_drained(const struct keeper *keeper)
{
    return keeper->phase == PHASE_DRAINING && !streams_open(keeper) &&
           !sink_is_full(&keeper->streams[0].sink) && !sink_is_full(&keeper->streams[1].sink);
}

/* Whatever becomes of a gateway, the command goes on; without one it would have no network. */
static void hear_gateway(struct keeper *keeper, const struct pollfd *fds)
{
    struct hutch_error failure = HUTCH_ERROR_INIT;
    uint32_t number = 0;
    enum gateway_word word = gateway_hear(keeper, fds, &number, &failure);
    if ((word == GATEWAY_REFUSED || word == GATEWAY_USELESS) && !keeper->has_failure &&
        !keeper->gateway.has_served)
        fail_setup(keeper, &failure);
}

static int serve(struct keeper *keeper, const struct pollfd *fds, struct hutch_error *err)
{
    if (fds[W_SOCKET].revents)
        read_message(keeper);
    for (size_t i = 0; i < 2; i++) {
        struct stream *stream = &keeper->streams[i];
        if (fds[W_OUT_SINK + i].revents)
            sink_flush(&stream->sink);
        if (fds[W_OUT + i].revents && stream_read(keeper, stream, err) < 0)
            return -(int)err->code;
    }
    if (fds[W_RESIZE].revents) /* what is typed after it finds the window as it is */
        resize_terminal(keeper);
    if (fds[W_IN].revents || fds[W_IN_TARGET].revents)
        feed_pump(&keeper->feed);
    if (fds[W_CANCEL].revents)
        keeper_kill(keeper, HUTCH_REASON_CANCELLED);
    if (fds[W_GATEWAY].revents || fds[W_GATEWAY + 1].revents)
        hear_gateway(keeper, fds + W_GATEWAY);
    return 0;
}

static int wait_step(struct keeper *keeper, struct hutch_error *err)
{
    struct pollfd fds[W_COUNT];
    uint64_t next = check_deadlines(keeper);
    uint64_t now = now_us();
    struct timespec pause = {0};
    if (next != NEVER && next > now) {
        pause.tv_sec = (time_t)((next - now) / 1000000);
        pause.tv_nsec = (long)((next - now) % 1000000) * 1000;
    }
    choose_watched(keeper, fds);
    if (ppoll(fds, W_COUNT, next == NEVER ? NULL : &pause, NULL) < 0) {
        if (errno == EINTR)
            return 0;
        return hutch_fail_errno(err, errno, "wait for the sandbox");
    }
    /* reports first: they were sent before the process that sent them ended */
    if (serve(keeper, fds, err) < 0)
        return -(int)err->code;
    if (keeper->others_left && is_drained(keeper)) {
        keeper->others_left = false;
        keeper->deadline_us = NEVER;
        keeper_kill_all(keeper);
    }
    if (!fds[W_PID].revents)
        return 0;
    reap(keeper);
    while (keeper->socket >= 0)
        read_message(keeper);
    if (!keeper->ended_us)
        keeper->ended_us = now_us();
    keeper->phase = PHASE_ENDED;
    return 0;
}

/* What was written before the end is in the pipes, all of it: their writers are dead. A slow reader
 * of ours gets it all, as long as it reads at all and nobody cancels. */
static int drain_rest(struct keeper *keeper, struct hutch_error *err)
{
    while (streams_open(keeper) || sink_is_full(&keeper->streams[0].sink) ||
           sink_is_full(&keeper->streams[1].sink)) {
        struct pollfd fds[W_COUNT];
        for (size_t i = 0; i < 2; i++)
            if (stream_read(keeper, &keeper->streams[i], err) < 0)
                return -(int)err->code;
        choose_watched(keeper, fds);
        fds[W_PID].fd = fds[W_SOCKET].fd = -1;
        bool full =
            sink_is_full(&keeper->streams[0].sink) || sink_is_full(&keeper->streams[1].sink);
        if (!full)
            continue;
        fds[W_OUT].fd = fds[W_ERR].fd = -1;
        fds[W_CANCEL] = (struct pollfd){keeper->options->cancel_fd, POLLIN, 0};
        int ready = poll(fds, W_COUNT, 5000);
        if ((ready < 0 && errno != EINTR) || ready == 0 || fds[W_CANCEL].revents)
            return 0; /* the reader has stopped reading */
        for (size_t i = 0; i < 2; i++)
            if (fds[W_OUT_SINK + i].revents)
                sink_flush(&keeper->streams[i].sink);
    }
    return 0;
}

int keeper_supervise(struct keeper *keeper, struct hutch_error *err)
{
    while (keeper->phase != PHASE_ENDED)
        if (wait_step(keeper, err) < 0)
            return -(int)err->code;
    return drain_rest(keeper, err);
}
