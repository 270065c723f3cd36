/* SPDX-License-Identifier: Apache-2.0 */
/* A stream of output as NDJSON: {"stream", "offset", "data", "encoding"?} for every piece, and at
 * last {"result"} or {"error"}. */
#ifndef HUTCH_REMOTE_LINES_H
#define HUTCH_REMOTE_LINES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "hutch/run.h"
#include "util/buf.h"

struct remote_piece {
    enum hutch_stream stream;
    uint64_t after;      /* where to go on */
    uint64_t lost_bytes; /* before it: they are no longer there */
    uint64_t time_us;
    const char *data;
    size_t length;
};

struct remote_lines {
    struct hutch_buf line;
    struct hutch_buf bytes; /* of a piece */
    int (*on_piece)(void *userdata, const struct remote_piece *piece, struct hutch_error *err);
    /* Of any other kind; NULL: those are passed over. */
    int (*on_row)(void *userdata, const json_t *row, struct hutch_error *err);
    void *userdata;
    json_t *result; /* NULL: it has not come */
};

#define REMOTE_LINE_CEILING (16u << 20)
#define REMOTE_LINES(fn, data_)                                                          \
    {                                                                                    \
        .line = HUTCH_BUF(REMOTE_LINE_CEILING), .bytes = HUTCH_BUF(REMOTE_LINE_CEILING), \
        .on_piece = (fn), .userdata = (data_)                                            \
    }

/* For struct remote_call: userdata is a struct remote_lines. */
int remote_lines_feed(void *userdata, const char *data, size_t length, struct hutch_error *err);
void remote_lines_done(struct remote_lines *lines);

#endif
