/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/native/capture.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/own.h"

void capture_start(struct capture *capture, size_t budget)
{
    *capture = (struct capture){.budget = budget, .head_size = budget - budget / 2};
}

static int reserve(struct capture *capture, size_t needed, struct hutch_error *err)
{
    if (needed > capture->budget)
        needed = capture->budget;
    if (needed <= capture->capacity)
        return 0;
    size_t capacity = capture->capacity ? capture->capacity * 2 : 4096;
    if (capacity < needed)
        capacity = needed;
    if (capacity > capture->budget)
        capacity = capture->budget;
    char *data = realloc(capture->data, capacity);
    if (!data)
        return hutch_fail_nomem(err);
    capture->data = data;
    capture->capacity = capacity;
    return 0;
}

static void ring_write(struct capture *capture, const char *data, size_t length)
{
    size_t size = capture->budget - capture->head_size;
    char *ring = capture->data + capture->head_size;
    if (!size)
        return;
    if (length > size) { /* only the last of it can stay */
        data += length - size;
        length = size;
    }
    size_t end = (capture->ring_start + capture->ring_length) % size;
    size_t first = length < size - end ? length : size - end;
    memcpy(ring + end, data, first);
    memcpy(ring, data + first, length - first);
    capture->ring_length += length;
    if (capture->ring_length > size) {
        capture->ring_start = (capture->ring_start + capture->ring_length - size) % size;
        capture->ring_length = size;
    }
}

int capture_append(struct capture *capture, const char *data, size_t length,
                   struct hutch_error *err)
{
    capture->total += length;
    uint64_t wanted = capture->total < capture->budget ? capture->total : capture->budget;
    if (reserve(capture, (size_t)wanted, err) < 0)
        return -(int)err->code;
    size_t head = capture->head_size - capture->head_length;
    if (head > length)
        head = length;
    if (head) {
        memcpy(capture->data + capture->head_length, data, head);
        capture->head_length += head;
    }
    if (length > head)
        ring_write(capture, data + head, length - head);
    return 0;
}

int capture_finish(struct capture *capture, struct hutch_output *ret_output, char **ret_data,
                   struct hutch_error *err)
{
    size_t length = capture->head_length + capture->ring_length;
    char *data = malloc(length + 1);
    if (!data)
        return hutch_fail_nomem(err);
    if (capture->head_length)
        memcpy(data, capture->data, capture->head_length);
    if (capture->ring_length) {
        size_t size = capture->budget - capture->head_size;
        const char *ring = capture->data + capture->head_size;
        size_t first = size - capture->ring_start;
        if (first > capture->ring_length)
            first = capture->ring_length;
        memcpy(data + capture->head_length, ring + capture->ring_start, first);
        memcpy(data + capture->head_length + first, ring, capture->ring_length - first);
    }
    data[length] = '\0';
    /* what was cut off is missing at the end, unless some is missing in the middle already */
    bool ends_early = capture->cut && capture->total == length;
    *ret_output = (struct hutch_output){.data = data,
                                        .length = length,
                                        .head_bytes = ends_early ? length : capture->head_length,
                                        .total_bytes = capture->total + capture->cut,
                                        .dropped_bytes = capture->total + capture->cut - length};
    *ret_data = data;
    return 0;
}

void capture_done(struct capture *capture)
{
    free(capture->data);
    capture->data = NULL;
}
