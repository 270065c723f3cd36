/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that wait. An empty one owns nothing, so that a connection at rest costs its struct. */
#ifndef HUTCH_HTTP_BUFFER_H
#define HUTCH_HTTP_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

struct buffer {
    char *memory;
    size_t start;
    size_t length;
    size_t size;
};

static inline const char *buffer_at(const struct buffer *buffer)
{
    return buffer->memory ? buffer->memory + buffer->start : "";
}

/* False: out of memory, nothing was added. */
bool buffer_add(struct buffer *buffer, const void *data, size_t length);
/* Forgets the first bytes; gives the memory back with the last. */
void buffer_drop(struct buffer *buffer, size_t length);
void buffer_done(struct buffer *buffer);

#endif
