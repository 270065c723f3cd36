/* SPDX-License-Identifier: Apache-2.0 */
#include "tar/in.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tar/format.h"
#include "tar/out.h"

#define BUFFER_BYTES (256u << 10)
#define DRAIN_READS 64

int tar_in_init(struct tar_in *in, int fd, tar_read *read, void *context)
{
    *in =
        (struct tar_in){.fd = fd, .read = read, .context = context, .buffer = malloc(BUFFER_BYTES)};
    if (!read)
        tar_pipe_enlarge(fd);
    return in->buffer ? 0 : -1;
}

void tar_in_done(struct tar_in *in)
{
    free(in->buffer);
    in->buffer = NULL;
}

static ssize_t read_some(const struct tar_in *in, char *to, size_t room)
{
    ssize_t got;
    do
        got = in->read ? in->read(in->context, to, room) : read(in->fd, to, room);
    while (got < 0 && errno == EINTR);
    return got;
}

static ssize_t read_more(struct tar_in *in)
{
    ssize_t got = read_some(in, in->buffer + in->end, BUFFER_BYTES - in->end);
    if (got > 0)
        in->end += (size_t)got;
    return got;
}

int tar_in_block(struct tar_in *in, const char **ret_block)
{
    if (in->end - in->at < TAR_BLOCK) {
        memmove(in->buffer, in->buffer + in->at, in->end - in->at);
        in->end -= in->at;
        in->at = 0;
    }
    while (in->end - in->at < TAR_BLOCK) {
        ssize_t got = read_more(in);
        if (got <= 0)
            return (int)got;
    }
    *ret_block = in->buffer + in->at;
    in->at += TAR_BLOCK;
    return 1;
}

long tar_in_some(struct tar_in *in, uint64_t max, const char **ret_data)
{
    if (in->at == in->end) {
        in->at = in->end = 0;
        ssize_t got = read_more(in);
        if (got <= 0)
            return got;
    }
    size_t length = TAR_MIN(in->end - in->at, max);
    *ret_data = in->buffer + in->at;
    in->at += length;
    return (long)length;
}

int tar_in_fill(struct tar_in *in, char *to, size_t length)
{
    size_t done = TAR_MIN(in->end - in->at, length);
    memcpy(to, in->buffer + in->at, done);
    in->at += done;
    while (done < length) {
        ssize_t got = read_some(in, to + done, length - done);
        if (got <= 0)
            return (int)got;
        done += (size_t)got;
    }
    return 1;
}

void tar_in_drain(struct tar_in *in)
{
    ssize_t got = 1;
    for (unsigned i = 0; i < DRAIN_READS && got > 0; i++) {
        in->at = in->end = 0;
        got = read_more(in);
    }
}
