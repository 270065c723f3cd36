/* SPDX-License-Identifier: Apache-2.0 */
/* Which descriptors a command gets. A pipe of the caller's and the null device are handed to it as
 * they are: what it writes passes through nobody. Anything else stays outside, for whoever has a
 * descriptor can do more with it than read or write: beneath a directory it opens the host's files,
 * a file it opens again by /proc/self/fd for what its own descriptor does not allow, from a
 * terminal it reads what is typed. There this process stands between, with pipes. */
#include "backend/native/call.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "util/own.h"

#define DRAIN_MS 100
#define DRAIN_STEP_MS 10

static bool is_harmless(const struct stat *info)
{
    return S_ISFIFO(info->st_mode) ||
           (S_ISCHR(info->st_mode) && info->st_rdev == makedev(1, 3)); /* /dev/null */
}

static int make_pipe(int *ret_read, int *ret_write, int *ours, struct hutch_error *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return hutch_fail_errno(err, errno, "make a pipe");
    *ret_read = ends[0];
    *ret_write = ends[1];
    (void)fcntl(*ours, F_SETFL, O_NONBLOCK);
    return 0;
}

static int open_null(int *ret_fd, int mode, struct hutch_error *err)
{
    *ret_fd = open("/dev/null", mode | O_CLOEXEC);
    return *ret_fd < 0 ? hutch_fail_errno(err, errno, "open '/dev/null'") : 0;
}

static int prepare_feed(struct call *call, struct hutch_error *err)
{
    call->feed.source = call->options->stdin_fd;
    call->feed.buffer = malloc(SINK_CHUNK);
    return call->feed.buffer ? 0 : hutch_fail_nomem(err);
}

static int choose_input(struct call *call, int *fd, bool *ret_owned, struct hutch_error *err)
{
    struct stat info;
    int given = call->options->stdin_fd;
    *fd = given;
    if (given >= 0 && fstat(given, &info) == 0 && is_harmless(&info))
        return 0;
    if (given < 0) {
        int *null = &call->sandbox->null;
        if (*null < 0 && open_null(null, O_RDONLY, err) < 0)
            return -(int)err->code;
        *fd = *null;
        return 0;
    }
    *ret_owned = true;
    if (prepare_feed(call, err) < 0)
        return -(int)err->code;
    return make_pipe(fd, &call->feed.target, &call->feed.target, err);
}

/* One file for both has them in the order in which they were written: so has one pipe. */
static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

int call_choose_stdio(struct call *call, int *fds, bool *ret_owned, struct hutch_error *err)
{
    const struct hutch_exec_options *options = call->options;
    const int given[3] = {options->stdin_fd, options->stdout_fd, options->stderr_fd};
    struct stat info[3] = {{0}};
    if (choose_input(call, &fds[0], &ret_owned[0], err) < 0)
        return -(int)err->code;
    for (size_t i = 1; i < 3; i++) {
        int status = 0;
        fds[i] = given[i];
        bool is_given = given[i] >= 0 && fstat(given[i], &info[i]) == 0;
        ret_owned[i] = options->capture || call->relays || !is_given || !is_harmless(&info[i]);
        if (!ret_owned[i])
            continue;
        if (!options->capture && given[i] < 0)
            status = open_null(&fds[i], O_WRONLY, err);
        else if (i == 2 && !options->capture && ret_owned[1] && given[1] >= 0 &&
                 is_same(&info[1], &info[2]))
            status = (fds[2] = fcntl(fds[1], F_DUPFD_CLOEXEC, 3)) < 0
                         ? hutch_fail_errno(err, errno, "duplicate a descriptor")
                         : 0;
        else
            status = make_pipe(&call->outputs[i - 1], &fds[i], &call->outputs[i - 1], err);
        if (status < 0)
            return status;
    }
    return 0;
}

int call_feed_terminal(struct call *call, struct hutch_error *err)
{
    (void)fcntl(call->master, F_SETFL, O_NONBLOCK);
    if (call->options->stdin_fd < 0)
        return 0;
    call->feed.target = fcntl(call->master, F_DUPFD_CLOEXEC, 3);
    return prepare_feed(call, err);
}

/* Waits for a slow reader: deadlines are the keeper's. */
static int write_out(int fd, const char *data, size_t length)
{
    while (length) {
        ssize_t written = write(fd, data, length);
        if (written < 0 && errno == EAGAIN) {
            struct pollfd room = {fd, POLLOUT, 0};
            (void)poll(&room, 1, -1);
        } else if (written < 0 && errno != EINTR) {
            return -1;
        }
        data += written > 0 ? written : 0;
        length -= written > 0 ? (size_t)written : 0;
    }
    return 0;
}

/* False when nobody reads it any more. */
static bool deliver(struct call *call, size_t which, const char *data, size_t length,
                    struct hutch_error *err)
{
    const struct hutch_exec_options *options = call->options;
    int target = which ? options->stderr_fd : options->stdout_fd;
    if (target >= 0 && write_out(target, data, length) < 0) {
        call->os_errno = errno == EPIPE || errno == EIO ? call->os_errno : errno;
        return false;
    }
    if (options->capture) {
        (void)!capture_append(&call->captures[which], data, length, err);
        (void)!capture_append(&call->captures[2], data, length, err);
    }
    return true;
}

static bool pass_on(struct call *call, size_t which, const char *data, size_t length, bool is_end,
                    struct hutch_error *err)
{
    if (!call->relays)
        return !length || deliver(call, which, data, length, err);
    hutch_cleanup(hutch_buf_done) struct hutch_buf out = HUTCH_BUF(REDACT_MAX_BYTES);
    redactor_feed(&call->redactors[which], data, length, is_end, &out);
    return !out.failed && (!out.length || deliver(call, which, out.data, out.length, err));
}

bool call_take_output(struct call *call, int *source, size_t which, struct hutch_error *err)
{
    char chunk[REDACT_CHUNK_BYTES * 2];
    ssize_t got = read(*source, chunk, call->relays ? REDACT_CHUNK_BYTES : sizeof(chunk));
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (got <= 0) { /* EIO: the last holder of the terminal's other side has gone */
        hutch_fd_close(source);
        (void)pass_on(call, which, "", 0, true, err);
        return false;
    }
    if (pass_on(call, which, chunk, (size_t)got, false, err))
        return true;
    hutch_fd_close(source); /* the command hears of it as if it had written there itself */
    return false;
}

int call_take_secrets(struct call *call, int memfd, struct hutch_error *err)
{
    if (memfd < 0)
        return hutch_fail(err, HUTCH_E_UNAVAILABLE, 0,
                          "the keeper has not said what is to be taken out of the output");
    if (shared_secrets_take(&call->secrets, memfd, err) < 0)
        return -(int)err->code;
    for (size_t i = 0; i < 2; i++)
        if (redactor_open(&call->redactors[i], &call->secrets.set, err) < 0)
            return -(int)err->code;
    return 0;
}

static bool take_all(struct call *call, struct hutch_error *err)
{
    for (size_t i = 0; i < 2; i++)
        while (call->outputs[i] >= 0 && call_take_output(call, &call->outputs[i], i, err))
            ;
    while (call->master >= 0 && call_take_output(call, &call->master, 0, err))
        ;
    return call->outputs[0] >= 0 || call->outputs[1] >= 0;
}

/* A process that the command left behind may be about to let go of its output: it is given a
 * moment, as after a run. */
bool call_drain(struct call *call, struct hutch_error *err)
{
    for (int left_ms = DRAIN_MS; take_all(call, err); left_ms -= DRAIN_STEP_MS) {
        struct pollfd fds[2] = {{call->outputs[0], POLLIN, 0}, {call->outputs[1], POLLIN, 0}};
        if (left_ms <= 0) {
            for (size_t i = 0; i < 2; i++)
                (void)pass_on(call, i, "", 0, true, err);
            return true;
        }
        (void)poll(fds, 2, DRAIN_STEP_MS);
    }
    return false;
}

int call_check(const struct call *call, struct hutch_error *err)
{
    if (call->os_errno)
        return hutch_fail_errno(err, call->os_errno, "pass on what the command wrote");
    if (call->feed.os_errno)
        return hutch_fail_errno(err, call->feed.os_errno, "pass standard input on to the command");
    return 0;
}
