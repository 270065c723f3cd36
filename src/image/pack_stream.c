/* SPDX-License-Identifier: Apache-2.0 */
#include "image/pack_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "util/own.h"

struct pack_stream {
    struct layer_pack_options options;
    int in; /* of the pipe */
    pthread_t thread;
    bool is_running;
    int status; /* of the packing, and its failure: after the thread's end */
    struct hutch_error failure;
};

/* A reader that goes away is a failed write here, not a signal to the process. */
static void *pack(void *context)
{
    struct pack_stream *stream = context;
    struct layer_packed packed;
    sigset_t all;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, NULL);
    stream->status = layer_pack(&stream->options, &packed, &stream->failure);
    hutch_fd_close(&stream->options.out_fd);
    return NULL;
}

int pack_stream_new(const struct layer_pack_options *options, struct pack_stream **ret_stream,
                    struct hutch_error *err)
{
    int ends[2];
    struct pack_stream *stream = calloc(1, sizeof(*stream));
    if (!stream)
        return hutch_fail_nomem(err);
    if (pipe2(ends, O_CLOEXEC) < 0) {
        free(stream);
        return hutch_fail_errno(err, errno, "make a pipe");
    }
    stream->options = *options;
    stream->in = ends[0];
    stream->options.out_fd = ends[1];
    int failed = pthread_create(&stream->thread, NULL, pack, stream);
    if (failed) {
        (void)close(ends[0]);
        (void)close(ends[1]);
        free(stream);
        return hutch_fail_errno(err, failed, "start a thread");
    }
    stream->is_running = true;
    *ret_stream = stream;
    return 0;
}

static void wait_for_end(struct pack_stream *stream)
{
    if (stream->is_running)
        (void)pthread_join(stream->thread, NULL);
    stream->is_running = false;
}

ssize_t pack_stream_read(void *context, void *buffer, size_t size, struct hutch_error *err)
{
    struct pack_stream *stream = context;
    ssize_t got = 0;
    do
        got = read(stream->in, buffer, size);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return hutch_fail_errno(err, errno, "read a layer");
    if (got == 0) {
        wait_for_end(stream);
        if (stream->status < 0) {
            *err = stream->failure;
            return stream->status;
        }
    }
    return got;
}

void pack_stream_free(struct pack_stream *stream)
{
    if (!stream)
        return;
    hutch_fd_close(&stream->in); /* so that it ends */
    wait_for_end(stream);
    free(stream);
}
