/* SPDX-License-Identifier: Apache-2.0 */
#include "store/log_reader.h"

#include <errno.h>
#include <stdlib.h>

#include "util/own.h"

static void close_reader(struct log_reader **reader)
{
    log_reader_close(*reader);
}

int log_reader_open(int dir, struct log_reader **ret_reader, struct hutch_error *err)
{
    hutch_cleanup(close_reader) struct log_reader *reader = calloc(1, sizeof(*reader));
    if (!reader)
        return hutch_fail_nomem(err);
    reader->dir = dir;
    reader->watch_fd = HUTCH_NO_FD;
    int r = log_cursor_init(&reader->cursor, err);
    if (r == 0)
        r = log_segments_list(dir, &reader->segments, err); /* a directory at all? */
    if (r < 0)
        return r;
    *ret_reader = HUTCH_TAKE_PTR(reader);
    return 0;
}

void log_reader_close(struct log_reader *reader)
{
    if (!reader)
        return;
    log_cursor_done(&reader->cursor);
    log_segments_done(&reader->segments);
    hutch_fd_close(&reader->watch_fd);
    free(reader);
}

void log_reader_seek(struct log_reader *reader, uint64_t offset)
{
    log_cursor_close(&reader->cursor);
    reader->placed = false;
    reader->offset = offset;
    reader->skipped = 0;
}

uint64_t log_reader_offset(const struct log_reader *reader)
{
    return reader->offset;
}

/* ---- which segment ---- */

/* Of the listed segments, the one to go on in: the one with the offset, or the one behind the
 * present one. Its index, or count when there is none. */
static size_t choose(const struct log_reader *reader)
{
    if (reader->placed)
        return log_segments_before(&reader->segments, reader->cursor.start);
    size_t before = log_segments_before(&reader->segments, reader->offset);
    return before ? before - 1 : 0;
}

/* A listing made while the writer went on can have a file without the one before it. So whenever it
 * shows a gap, or the end, it is made once more: what came before is in that one, unless it is
 * really gone. */
static int choose_surely(struct log_reader *reader, size_t *ret_index, struct hutch_error *err)
{
    const struct log_segments *segments = &reader->segments;
    size_t index = choose(reader);
    bool has_one = index < segments->count;
    if (has_one ? segments->starts[index] > reader->offset : segments->ended) {
        int r = log_segments_list(reader->dir, &reader->segments, err);
        if (r < 0)
            return r;
        index = choose(reader);
    }
    *ret_index = index;
    return 0;
}

static int end(struct log_reader *reader, struct log_chunk *ret_chunk)
{
    uint64_t last = reader->segments.end;
    if (last > reader->offset) {
        reader->skipped += last - reader->offset;
        reader->offset = last;
    }
    *ret_chunk = (struct log_chunk){.offset = last, .skipped_bytes = reader->skipped};
    reader->skipped = 0;
    return LOG_ENDED;
}

/* Tells why the segment is left, and where reading goes on. */
static int give_up(struct log_reader *reader, uint64_t start, const struct hutch_error *cause,
                   struct hutch_error *err)
{
    const struct log_segments *segments = &reader->segments;
    size_t next = log_segments_before(segments, start);
    log_cursor_close(&reader->cursor);
    reader->cursor.start = start;
    reader->placed = true;
    if (next < segments->count)
        return hutch_fail(err, cause->code, cause->os_errno,
                          "%.300s; reading goes on at offset %llu", cause->msg,
                          (unsigned long long)segments->starts[next]);
    return hutch_fail(err, cause->code, cause->os_errno,
                      "%.300s; reading goes on in the next segment, once there is one", cause->msg);
}

/* A failure of ours, not of the segment's: the same call can succeed later. */
static int keep(const struct hutch_error *cause, struct hutch_error *err)
{
    if (err)
        *err = *cause;
    return -(int)cause->code;
}

static bool is_passing(const struct hutch_error *cause)
{
    return cause->os_errno == EMFILE || cause->os_errno == ENFILE || cause->os_errno == ENOMEM;
}

/* To the next segment, now that nothing more comes in this one. Returns LOG_CHUNK when there is
 * something to look at. */
static int move_on(struct log_reader *reader, struct log_chunk *ret_chunk, struct hutch_error *err)
{
    struct hutch_error cause;
    size_t index;
    int r = choose_surely(reader, &index, err);
    if (r < 0)
        return r;
    if (index >= reader->segments.count)
        return reader->segments.ended ? end(reader, ret_chunk) : LOG_NOTHING;
    uint64_t start = reader->segments.starts[index];
    r = log_cursor_open(&reader->cursor, reader->dir, start, &cause);
    if (r == -(int)HUTCH_E_NOT_FOUND)
        return LOG_CHUNK; /* rotated away this moment: choose again */
    if (r < 0)
        return is_passing(&cause) ? keep(&cause, err) : give_up(reader, start, &cause, err);
    reader->placed = true;
    return LOG_CHUNK;
}

/* ---- what is in it ---- */

static int damaged(struct log_reader *reader, struct hutch_error *err)
{
    char name[LOG_NAME_SIZE];
    struct hutch_error cause, ignored;
    const struct log_cursor *cursor = &reader->cursor;
    log_segment_name(cursor->start, name);
    (void)hutch_fail(&cause, HUTCH_E_SYSTEM, EBADMSG,
                     "log segment '%s' is damaged at byte %llu (offset %llu): %s", name,
                     (unsigned long long)cursor->position, (unsigned long long)cursor->floor,
                     cursor->wrong);
    (void)log_segments_list(reader->dir, &reader->segments, &ignored); /* only for the message */
    return give_up(reader, cursor->start, &cause, err);
}

static int peek(struct log_reader *reader, struct log_frame *ret_frame, struct hutch_error *err)
{
    struct log_cursor *cursor = &reader->cursor;
    struct hutch_error cause;
    bool has_header;
    if (!log_cursor_is_open(cursor))
        return LOG_CURSOR_END;
    cursor->headers_only = cursor->floor < reader->offset;
    int r = log_cursor_peek(cursor, ret_frame, &has_header, &cause);
    if (r == LOG_CURSOR_DAMAGED)
        return damaged(reader, err);
    return r < 0 ? give_up(reader, cursor->start, &cause, err) : r;
}

/* Takes what the caller has not had of the frame. Returns LOG_CHUNK, or LOG_NOTHING when there is
 * nothing in it for them. */
static int take(struct log_reader *reader, const struct log_frame *frame, unsigned filter,
                struct log_chunk *ret_chunk, struct hutch_error *err)
{
    struct log_cursor *cursor = &reader->cursor;
    struct hutch_error cause;
    const char *data = NULL;
    if (log_frame_end(frame) <= reader->offset) {
        log_cursor_skip(cursor, frame);
        return LOG_NOTHING;
    }
    if (frame->stream & filter) {
        int r = log_cursor_data(cursor, frame, &data, &cause);
        if (r < 0)
            return give_up(reader, cursor->start, &cause, err);
        if (r != LOG_CURSOR_FRAME)
            return LOG_NOTHING;
    }
    if (frame->offset > reader->offset) {
        reader->skipped += frame->offset - reader->offset;
        reader->offset = frame->offset;
    }
    const size_t had = (size_t)(reader->offset - frame->offset);
    const uint64_t offset = reader->offset;
    log_cursor_skip(cursor, frame);
    reader->offset = log_frame_end(frame);
    if (!data)
        return LOG_NOTHING;
    *ret_chunk = (struct log_chunk){
        .offset = offset,
        .time_us = frame->time_us,
        .skipped_bytes = reader->skipped,
        .data = data + had,
        .length = frame->length - had,
        .stream = (enum log_stream)frame->stream,
    };
    reader->skipped = 0;
    return LOG_CHUNK;
}

/* At the end of what is there, the order matters: first the old events are forgotten, then the
 * directory is read, then the segment is looked at once more. What is written before that is seen;
 * what is written after it wakes the caller; and where the directory had a newer segment, this one
 * is complete. */
int log_reader_next(struct log_reader *reader, unsigned filter, struct log_chunk *ret_chunk,
                    struct hutch_error *err)
{
    bool is_last_look = false;
    for (;;) {
        struct log_frame frame;
        int r = peek(reader, &frame, err);
        if (r < 0)
            return r;
        if (r == LOG_CURSOR_FRAME) {
            r = take(reader, &frame, filter, ret_chunk, err);
            is_last_look = false;
            if (r != LOG_NOTHING)
                return r;
        } else if (!is_last_look) {
            log_watch_empty(reader);
            r = log_segments_list(reader->dir, &reader->segments, err);
            is_last_look = true;
            if (r < 0)
                return r;
        } else {
            r = move_on(reader, ret_chunk, err);
            is_last_look = false;
            if (r != LOG_CHUNK)
                return r;
        }
    }
}
