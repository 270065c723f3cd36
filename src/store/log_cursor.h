/* SPDX-License-Identifier: Apache-2.0 */
/* Walks over the frames of one segment, which may be growing meanwhile, and trusts nothing in it.
 */
#ifndef HUTCH_STORE_LOG_CURSOR_H
#define HUTCH_STORE_LOG_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/log_frame.h"
#include "util/error.h"

/* A frame may be read in one piece, wherever it begins. */
#define LOG_CURSOR_BUFFER (LOG_FRAME_MAX + LOG_HEADER_BYTES)

struct log_cursor {
    int fd;
    uint64_t start;    /* the segment's name */
    uint64_t size;     /* of the file, when last asked */
    uint64_t position; /* in the file, of the next frame */
    uint64_t floor;    /* the next frame's offset is not below this */
    const char *wrong; /* what is damaged */
    uint64_t window;   /* position in the file of buffer[0] */
    size_t filled;     /* what is kept stays true, for no byte of a segment ever changes */
    unsigned char *buffer;
    bool headers_only; /* a hint: the data will not be asked for, read little ahead */
};

enum log_cursor_state {
    LOG_CURSOR_FRAME,   /* a whole one */
    LOG_CURSOR_END,     /* no more whole frames, for now */
    LOG_CURSOR_DAMAGED, /* for ever; .wrong says why */
};

int log_cursor_init(struct log_cursor *cursor, struct hutch_error *err);
void log_cursor_done(struct log_cursor *cursor);
/* -HUTCH_E_NOT_FOUND: it is not there (any more). */
int log_cursor_open(struct log_cursor *cursor, int dir, uint64_t start, struct hutch_error *err);
void log_cursor_close(struct log_cursor *cursor);
static inline bool log_cursor_is_open(const struct log_cursor *cursor)
{
    return cursor->fd >= 0;
}

/* The next frame's header. Also at LOG_CURSOR_END ret_frame is filled when it says so: the header
 * is there, the data is not. Returns an enum log_cursor_state, or a failure. */
int log_cursor_peek(struct log_cursor *cursor, struct log_frame *ret_frame, bool *ret_has_header,
                    struct hutch_error *err);
/* The data of the frame just peeked at, until the next call. The same answers. */
int log_cursor_data(struct log_cursor *cursor, const struct log_frame *frame, const char **ret_data,
                    struct hutch_error *err);
/* Over the frame just peeked at. */
void log_cursor_skip(struct log_cursor *cursor, const struct log_frame *frame);

#endif
