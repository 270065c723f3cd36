/* SPDX-License-Identifier: Apache-2.0 */
#include "store/log_recover.h"

#include <errno.h>
#include <unistd.h>

#include "store/log.h"
#include "store/log_cursor.h"
#include "store/log_segments.h"
#include "util/own.h"

static int walk_to_end(struct log_cursor *cursor, struct log_frame *ret_frame, bool *ret_has_header,
                       struct hutch_error *err)
{
    int r;
    while ((r = log_cursor_peek(cursor, ret_frame, ret_has_header, err)) == LOG_CURSOR_FRAME)
        log_cursor_skip(cursor, ret_frame);
    return r;
}

/* A torn frame counts with all it was to hold. Where not even its header can be read, the bytes
 * that are there are counted: at least one was lost, so nothing is lost without a trace, and the
 * new segment gets another name than the torn one. */
int log_recover(int dir, uint64_t start, struct log_remains *ret_remains, struct hutch_error *err)
{
    hutch_cleanup(log_cursor_done) struct log_cursor cursor;
    struct log_frame frame;
    bool has_header = false;
    int r = log_cursor_init(&cursor, err);
    if (r < 0)
        return r;
    cursor.headers_only = true;
    r = log_cursor_open(&cursor, dir, start, err);
    if (r == 0)
        r = walk_to_end(&cursor, &frame, &has_header, err);
    if (r < 0)
        return r;
    const uint64_t left = cursor.size > cursor.position ? cursor.size - cursor.position : 0;
    const uint64_t offset = has_header ? log_frame_end(&frame) : cursor.floor + left;
    if (offset < cursor.floor)
        return hutch_fail(err, HUTCH_E_INVALID, EOVERFLOW, "the log's offset is at its end");
    *ret_remains = (struct log_remains){.offset = offset, .torn = left > 0};
    return 0;
}

int log_take_up(int dir, struct hutch_error *err)
{
    hutch_cleanup(log_segments_done) struct log_segments found = {0};
    char name[LOG_NAME_SIZE];
    int r = log_segments_list(dir, &found, err);
    if (r < 0 || !found.ended)
        return r;
    log_end_name(found.end, name);
    if (unlinkat(dir, name, 0) < 0 && errno != ENOENT)
        return hutch_fail_errno(err, errno, "take up a log that has ended");
    return 0;
}
