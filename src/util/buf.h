/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_UTIL_BUF_H
#define HUTCH_UTIL_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

/* A byte buffer that cannot be made without its ceiling. Appending past the ceiling or out of
 * memory marks it failed and later appends do nothing, so a writer checks once, at the end. The
 * content is always followed by a NUL. */
struct hutch_buf {
    char *data;
    size_t length;
    size_t capacity;
    size_t ceiling;
    bool failed;
    bool is_borrowed; /* data is the owner's, until there is more than it has room for */
};

#define HUTCH_BUF(ceiling_bytes)                  \
    {                                             \
        NULL, 0, 0, (ceiling_bytes), false, false \
    }
/* Begins in an array (no pointer) that lives as long as the buffer: what fits there is never
 * allocated. It is no text before the first append. */
#define HUTCH_BUF_IN(array, ceiling_bytes)                      \
    {                                                           \
        (array), 0, sizeof(array), (ceiling_bytes), false, true \
    }

void hutch_buf_append(struct hutch_buf *buf, const void *data, size_t length);
void hutch_buf_puts(struct hutch_buf *buf, const char *text);
void hutch_buf_printf(struct hutch_buf *buf, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* In decimal; numbers are written too often for a format to be read each time. */
void hutch_buf_uint(struct hutch_buf *buf, uint64_t value);
/* Makes room, so that appending that much does not move what is there. */
void hutch_buf_reserve(struct hutch_buf *buf, size_t length);
void hutch_buf_done(struct hutch_buf *buf);
/* The same, and nothing of the content stays in memory, if there was room for it from the first
 * append on: what grows is moved. */
void hutch_buf_wipe(struct hutch_buf *buf);
/* Hands the content over; fails when any append failed. */
int hutch_buf_take(struct hutch_buf *buf, char **ret_text, size_t *ret_length,
                   struct hutch_error *err);

#endif
