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

int tar_in_init(struct tar_in *in, int fd, tar_lend *lend, void *context)
{
    *in = (struct tar_in){.fd = fd, .lend = lend, .context = context};
    if (lend)
        return 0;
    tar_pipe_enlarge(fd);
    in->data = in->buffer = malloc(BUFFER_BYTES);
    return in->buffer ? 0 : -1;
}

void tar_in_done(struct tar_in *in)
{
    free(in->buffer);
    in->buffer = NULL;
}

static ssize_t read_some(int fd, char *to, size_t room)
{
    ssize_t got;
    do
        got = read(fd, to, room);
    while (got < 0 && errno == EINTR);
    return got;
}

/* More behind what is left. What is lent has whole blocks: a part of one is the archive's end. */
static ssize_t read_more(struct tar_in *in)
{
    size_t left = in->end - in->at;
    ssize_t got = 0;
    if (!in->lend) {
        memmove(in->buffer, in->buffer + in->at, left);
        got = read_some(in->fd, in->buffer + left, BUFFER_BYTES - left);
    } else if (left == 0) {
        got = in->lend(in->context, &in->data);
    } else {
        return 0;
    }
    in->at = 0;
    in->end = left + (got > 0 ? (size_t)got : 0);
    return got;
}

int tar_in_block(struct tar_in *in, const char **ret_block)
{
    while (in->end - in->at < TAR_BLOCK) {
        ssize_t got = read_more(in);
        if (got <= 0)
            return (int)got;
    }
    *ret_block = in->data + in->at;
    in->at += TAR_BLOCK;
    return 1;
}

long tar_in_some(struct tar_in *in, uint64_t max, const char **ret_data)
{
    if (in->at == in->end) {
        ssize_t got = read_more(in);
        if (got <= 0)
            return got;
    }
    size_t length = TAR_MIN(in->end - in->at, max);
    *ret_data = in->data + in->at;
    in->at += length;
    return (long)length;
}

/* What is lent has to be copied; what is read need not pass through the buffer. */
static ssize_t read_into(struct tar_in *in, char *to, size_t room)
{
    const char *data;
    if (!in->lend && in->at == in->end)
        return read_some(in->fd, to, room);
    long got = tar_in_some(in, room, &data);
    if (got > 0)
        memcpy(to, data, (size_t)got);
    return got;
}

int tar_in_fill(struct tar_in *in, char *to, size_t length)
{
    for (size_t done = 0; done < length;) {
        ssize_t got = read_into(in, to + done, length - done);
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
        in->at = in->end;
        got = read_more(in);
    }
}
