/* SPDX-License-Identifier: Apache-2.0 */
/* The log of a build, from the pieces in which it comes. */
#ifndef HUTCH_IMAGE_BUILD_LINES_H
#define HUTCH_IMAGE_BUILD_LINES_H

#include <stddef.h>

#define BUILD_LINE_MAX_BYTES 8192

/* One line, without its end. A line that is too long comes in pieces. */
typedef void build_line_fn(void *context, const char *line);

struct build_lines {
    build_line_fn *on_line; /* NULL: nobody listens */
    void *context;
    char text[BUILD_LINE_MAX_BYTES];
    size_t length;
};

void build_lines_take(struct build_lines *lines, const char *bytes, size_t count);
/* What has come of a line that has no end is one. */
void build_lines_end(struct build_lines *lines);

#endif
