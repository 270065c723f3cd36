/* SPDX-License-Identifier: Apache-2.0 */
/* The command's output and input, a chunk at a time. Memory is bounded: one chunk in flight per
 * sink, captures within their budgets. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "backend/native/keeper.h"
#include "util/own.h"

#define PIPE_USUAL_BYTES (64u << 10)
#define PIPE_LARGE_BYTES (1 << 20)

bool streams_open(const struct keeper *keeper)
{
    return keeper->streams[0].source >= 0 || keeper->streams[1].source >= 0;
}

/* Nothing past the ceiling is passed on, only counted, and the command is over. */
static size_t cut_at_ceiling(struct keeper *keeper, struct stream *stream, size_t length)
{
    uint64_t ceiling = keeper->spec->limits.output_max_bytes;
    uint64_t room = ceiling - stream->capture.total;
    if (!ceiling || length <= room)
        return length;
    stream->capture.cut = length - room;
    if (keeper->options->capture)
        keeper->both.cut += length - room;
    hutch_fd_close(&stream->source);
    keeper_kill(keeper, HUTCH_REASON_OUTPUT_LIMIT);
    return (size_t)room;
}

static int deliver(struct keeper *keeper, struct stream *stream, const char *data, size_t length,
                   struct hutch_error *err)
{
    const struct hutch_run_options *options = keeper->options;
    if (options->capture) {
        if (capture_append(&stream->capture, data, length, err) < 0 ||
            capture_append(&keeper->both, data, length, err) < 0)
            return -(int)err->code;
    } else {
        stream->capture.total += length;
    }
    if (options->on_output)
        options->on_output(options->userdata, stream->number, data, length);
    sink_write(&stream->sink, data, length);
    return 0;
}

/* With redaction, what may be the beginning of a value waits for what follows. */
static int pass_on(struct keeper *keeper, struct stream *stream, const char *data, size_t length,
                   struct hutch_error *err)
{
    struct redactor *redactor = &stream->redactor;
    if (!redactor->set)
        return length ? deliver(keeper, stream, data, length, err) : 0;
    hutch_cleanup(hutch_buf_done) struct hutch_buf out = HUTCH_BUF(REDACT_MAX_BYTES);
    redactor_feed(redactor, data, length, stream->source < 0, &out);
    if (out.failed)
        return hutch_fail_nomem(err);
    return out.length ? deliver(keeper, stream, out.data, out.length, err) : 0;
}

/* A producer that fills a pipe of the usual size gets a larger one: fewer turns for the same bytes.
 * Where the user's share of pipe memory is used up, the old size stays. */
static void enlarge_pipe(struct stream *stream, size_t got)
{
    if (stream->enlarged || got < PIPE_USUAL_BYTES)
        return;
    stream->enlarged = true;
    (void)fcntl(stream->source, F_SETPIPE_SZ, PIPE_LARGE_BYTES);
}

/* One chunk: between two chunks the deadlines are looked at. */
int stream_read(struct keeper *keeper, struct stream *stream, struct hutch_error *err)
{
    ssize_t got;
    if (stream->source < 0 || sink_is_full(&stream->sink))
        return 0;
    do
        got = read(stream->source, keeper->chunk,
                   stream->redactor.set ? REDACT_CHUNK_BYTES : SINK_CHUNK);
    while (got < 0 && errno == EINTR);
    if (got < 0 && errno == EAGAIN && keeper->phase != PHASE_ENDED)
        return 0;
    if (got < 0 && errno != EAGAIN && errno != EIO)
        return hutch_fail_errno(err, errno, "read the command's output");
    /* EIO: the other side of a terminal has been closed by its last holder. EAGAIN: every process
     * of the sandbox is dead, but one of them gave its pipe away. A sink that nobody reads any
     * more: the command hears of it as it would from a plain pipe. */
    keeper->held_pipes |= got < 0 && errno == EAGAIN;
    if (got <= 0 || stream->sink.broken) {
        hutch_fd_close(&stream->source);
        return pass_on(keeper, stream, NULL, 0, err);
    }
    keeper->idle_since_us = now_us();
    enlarge_pipe(stream, (size_t)got);
    size_t length = cut_at_ceiling(keeper, stream, (size_t)got);
    return pass_on(keeper, stream, keeper->chunk, length, err);
}

bool feed_wants_input(const struct feed *feed)
{
    return feed->source >= 0 && feed->target >= 0 && !feed->length;
}

static void feed_stop(struct feed *feed, int os_errno)
{
    feed->os_errno = os_errno;
    feed->source = HUTCH_NO_FD; /* the caller's: not ours to close */
    feed->length = 0;
    hutch_fd_close(&feed->target);
}

/* Called when the source has something or the target has room. */
void feed_pump(struct feed *feed)
{
    if (feed_wants_input(feed)) {
        ssize_t got = read(feed->source, feed->buffer, SINK_CHUNK);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            return;
        if (got <= 0) { /* EIO: a terminal that is not ours to read is at its end */
            feed_stop(feed, got < 0 && errno != EIO ? errno : 0);
            return;
        }
        feed->start = 0;
        feed->length = (size_t)got;
    }
    while (feed->length) {
        ssize_t written = write(feed->target, feed->buffer + feed->start, feed->length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0 && errno == EAGAIN)
            return;
        if (written < 0) { /* the command need not read it all */
            feed_stop(feed, errno != EPIPE && errno != EIO ? errno : 0);
            return;
        }
        feed->start += (size_t)written;
        feed->length -= (size_t)written;
    }
}

int streams_check(const struct keeper *keeper, struct hutch_error *err)
{
    static const char *const names[] = {"standard output", "standard error"};
    for (size_t i = 0; i < 2; i++)
        if (keeper->streams[i].sink.os_errno)
            return hutch_fail_errno(err, keeper->streams[i].sink.os_errno,
                                    "pass on what the command wrote to %s", names[i]);
    if (keeper->feed.os_errno)
        return hutch_fail_errno(err, keeper->feed.os_errno,
                                "pass standard input on to the command");
    return 0;
}
