/* SPDX-License-Identifier: Apache-2.0 */
/* Which segments a log's directory has. */
#ifndef HUTCH_STORE_LOG_SEGMENTS_H
#define HUTCH_STORE_LOG_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

/* Twenty digits, so that names sort as offsets do, and a suffix. */
#define LOG_NAME_SIZE 25
void log_segment_name(uint64_t start, char name[LOG_NAME_SIZE]);
void log_end_name(uint64_t offset, char name[LOG_NAME_SIZE]);

struct log_segments {
    uint64_t *starts; /* ascending */
    size_t count;
    size_t capacity;
    bool ended;
    uint64_t end; /* when it has ended */
};

/* Replaces the list by what is there now. Files with other names are nobody's business. What was
 * there before the call and is still there after it is in the list; of what appears meanwhile a
 * later file can be in it and an earlier one not. */
int log_segments_list(int dir, struct log_segments *segments, struct hutch_error *err);
void log_segments_done(struct log_segments *segments);

/* How many begin at or before the offset: the index of the first one that begins behind it. */
size_t log_segments_before(const struct log_segments *segments, uint64_t offset);

#endif
