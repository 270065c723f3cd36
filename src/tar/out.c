/* SPDX-License-Identifier: Apache-2.0 */
#include "tar/out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tar/format.h"

#define BUFFER_BYTES (256u << 10)
#define PIPE_BYTES (1 << 20)

void tar_pipe_enlarge(int fd)
{
    if (fcntl(fd, F_GETPIPE_SZ) < PIPE_BYTES)
        (void)fcntl(fd, F_SETPIPE_SZ, PIPE_BYTES);
}

int tar_write_all(int fd, const char *data, size_t length)
{
    while (length) {
        ssize_t written = write(fd, data, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return -1;
        data += written;
        length -= (size_t)written;
    }
    return 0;
}

int tar_out_init(struct tar_out *out, int fd, tar_write *write, void *context)
{
    *out = (struct tar_out){
        .fd = fd, .write = write, .context = context, .buffer = malloc(BUFFER_BYTES)};
    if (!write)
        tar_pipe_enlarge(fd);
    return out->buffer ? 0 : -1;
}

void tar_out_done(struct tar_out *out)
{
    free(out->buffer);
    out->buffer = NULL;
}

int tar_out_flush(struct tar_out *out)
{
    size_t used = out->used;
    out->used = 0;
    return out->write ? out->write(out->context, out->buffer, used)
                      : tar_write_all(out->fd, out->buffer, used);
}

char *tar_out_room(struct tar_out *out, size_t *ret_length)
{
    if (out->used == BUFFER_BYTES && tar_out_flush(out) < 0)
        return NULL;
    *ret_length = BUFFER_BYTES - out->used;
    return out->buffer + out->used;
}

void tar_out_take(struct tar_out *out, size_t length)
{
    out->used += length;
}

int tar_out_write(struct tar_out *out, const void *data, size_t length)
{
    const char *next = data;
    while (length) {
        size_t room;
        char *to = tar_out_room(out, &room);
        if (!to)
            return -1;
        room = TAR_MIN(room, length);
        memcpy(to, next, room);
        tar_out_take(out, room);
        next += room;
        length -= room;
    }
    return 0;
}

int tar_out_zeros(struct tar_out *out, uint64_t length)
{
    while (length) {
        size_t room;
        char *to = tar_out_room(out, &room);
        if (!to)
            return -1;
        room = TAR_MIN(room, length);
        memset(to, 0, room);
        tar_out_take(out, room);
        length -= room;
    }
    return 0;
}
