/* SPDX-License-Identifier: Apache-2.0 */
/* Lines out of a pipe, as they come and each up to a length: a longer one is passed over, and told
 * of. */
#ifndef HUTCH_SERVER_LINE_READER_H
#define HUTCH_SERVER_LINE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hutch/error.h"

struct line_reader {
    int fd; /* blocks; borrowed */
    size_t most_bytes;
    char *data; /* what has been read and not been told yet */
    size_t length;
    size_t capacity;
    uint64_t index;  /* of the next line */
    bool is_skipped; /* what comes up to the next end belongs to a line that was too long */
    bool has_ended;
};

#define LINE_READER(descriptor, most)             \
    {                                             \
        .fd = (descriptor), .most_bytes = (most), \
    }

struct line {
    uint64_t index; /* counted from 0, empty ones too */
    char *text;     /* free it with free(); NULL when it is not there, because of err */
    size_t length;
    struct hutch_error err;
};

/* The next one that is not empty; false at the end. */
bool line_reader_next(struct line_reader *reader, struct line *ret_line);
void line_reader_done(struct line_reader *reader);

#endif
