/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the head and the tail of a stream of any length within a fixed budget, and counts the rest
 * exactly. */
#ifndef HUTCH_NATIVE_CAPTURE_H
#define HUTCH_NATIVE_CAPTURE_H

#include <stddef.h>
#include <stdint.h>

#include "hutch/result.h"
#include "util/error.h"

/* The first half of the budget fills up once; the second is a ring. Memory grows with what arrives,
 * up to the budget. */
struct capture {
    size_t budget;
    size_t head_size;
    char *data; /* head, then ring */
    size_t capacity;
    size_t head_length;
    size_t ring_length; /* bytes in the ring */
    size_t ring_start;  /* its oldest byte */
    uint64_t total;
    uint64_t cut; /* bytes that came and were not let in */
};

void capture_start(struct capture *capture, size_t budget);
int capture_append(struct capture *capture, const char *data, size_t length,
                   struct hutch_error *err);
/* Hands the kept bytes over as one piece. */
int capture_finish(struct capture *capture, struct hutch_output *ret_output, char **ret_data,
                   struct hutch_error *err);
void capture_done(struct capture *capture);

#endif
