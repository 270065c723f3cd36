/* SPDX-License-Identifier: Apache-2.0 */
#include "http/buffer.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SMALLEST 256

static bool make_room(struct buffer *buffer, size_t more)
{
    if (buffer->size - buffer->start - buffer->length >= more)
        return true;
    if (buffer->start) {
        memmove(buffer->memory, buffer->memory + buffer->start, buffer->length);
        buffer->start = 0;
    }
    if (buffer->size - buffer->length >= more)
        return true;
    if (more > SIZE_MAX / 4 - buffer->length)
        return false;
    size_t size = buffer->size ? buffer->size : SMALLEST;
    while (size - buffer->length < more)
        size *= 2;
    char *memory = realloc(buffer->memory, size);
    if (!memory)
        return false;
    buffer->memory = memory;
    buffer->size = size;
    return true;
}

bool buffer_add(struct buffer *buffer, const void *data, size_t length)
{
    if (!length)
        return true;
    if (!make_room(buffer, length))
        return false;
    memcpy(buffer->memory + buffer->start + buffer->length, data, length);
    buffer->length += length;
    return true;
}

void buffer_drop(struct buffer *buffer, size_t length)
{
    buffer->start += length;
    buffer->length -= length;
    if (!buffer->length)
        buffer_done(buffer);
}

void buffer_done(struct buffer *buffer)
{
    free(buffer->memory);
    *buffer = (struct buffer){0};
}
