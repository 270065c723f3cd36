/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the reader share. */
#ifndef HUTCH_STORE_LOG_READER_H
#define HUTCH_STORE_LOG_READER_H

#include "store/log.h"
#include "store/log_cursor.h"
#include "store/log_segments.h"

struct log_reader {
    int dir; /* the caller's */
    int watch_fd;
    struct log_cursor cursor; /* closed: no segment was opened yet, or the one there was given up */
    struct log_segments segments;
    bool placed; /* cursor.start is the segment being read, or given up */
    uint64_t offset;
    uint64_t skipped; /* lost, and not yet told */
};

/* Forgets the events there are. */
void log_watch_empty(struct log_reader *reader);

#endif
