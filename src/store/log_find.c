/* SPDX-License-Identifier: Apache-2.0 */
/* Finding a place to begin reading: the last lines, or a time. Segments are gone through from the
 * newest to the oldest, and only as far as needed. */
#include <string.h>

#include "store/log_reader.h"
#include "util/own.h"

/* Opens the segment; what cannot be opened is passed over here and told by log_reader_next. Returns
 * 1, or 0. */
static int open_segment(struct log_reader *reader, size_t index, bool headers_only)
{
    struct hutch_error ignored;
    log_cursor_close(&reader->cursor);
    reader->cursor.headers_only = headers_only;
    return log_cursor_open(&reader->cursor, reader->dir, reader->segments.starts[index],
                           &ignored) == 0;
}

/* The next frame; 0 at the end of what can be read of the segment. */
static int next_frame(struct log_cursor *cursor, struct log_frame *ret_frame,
                      struct hutch_error *err)
{
    bool has_header;
    int r = log_cursor_peek(cursor, ret_frame, &has_header, err);
    if (r < 0)
        return r;
    return r == LOG_CURSOR_FRAME;
}

/* The next frame of these streams with its data, and on behind it. 0 as above. */
static int next_data(struct log_cursor *cursor, unsigned filter, struct log_frame *ret_frame,
                     const char **ret_data, struct hutch_error *err)
{
    for (;;) {
        int r = next_frame(cursor, ret_frame, err);
        if (r <= 0)
            return r;
        if (ret_frame->stream & filter)
            break;
        log_cursor_skip(cursor, ret_frame);
    }
    int r = log_cursor_data(cursor, ret_frame, ret_data, err);
    if (r < 0)
        return r;
    log_cursor_skip(cursor, ret_frame);
    return r == LOG_CURSOR_FRAME;
}

/* ---- the last lines ---- */

struct lines {
    uint64_t newlines;
    bool is_empty;
    bool ends_in_newline;
};

static uint64_t count_newlines(const char *data, size_t length)
{
    uint64_t count = 0;
    const char *end = data + length;
    for (const char *found; (found = memchr(data, '\n', (size_t)(end - data))); data = found + 1)
        count++;
    return count;
}

static int count_lines(struct log_cursor *cursor, unsigned filter, struct lines *ret_lines,
                       struct hutch_error *err)
{
    struct lines lines = {.is_empty = true};
    struct log_frame frame;
    const char *data;
    int r;
    while ((r = next_data(cursor, filter, &frame, &data, err)) > 0) {
        lines.newlines += count_newlines(data, frame.length);
        lines.ends_in_newline = data[frame.length - 1] == '\n';
        lines.is_empty = false;
    }
    *ret_lines = lines;
    return r;
}

/* The offset behind the segment's newline with this number, from 1. Found unless the file was
 * changed by somebody: then it is where the reading stopped. */
static int behind_newline(struct log_cursor *cursor, unsigned filter, uint64_t number,
                          uint64_t *ret_offset, struct hutch_error *err)
{
    struct log_frame frame;
    const char *data;
    int r;
    while ((r = next_data(cursor, filter, &frame, &data, err)) > 0) {
        uint64_t here = count_newlines(data, frame.length);
        if (here >= number) {
            const char *next = data;
            while (number--)
                next = (const char *)memchr(next, '\n', frame.length - (size_t)(next - data)) + 1;
            *ret_offset = frame.offset + (uint64_t)(next - data);
            return 0;
        }
        number -= here;
    }
    *ret_offset = cursor->floor;
    return r;
}

/* Walks back until needed newlines are found. Returns 1 with the offset, or 0 when there are not
 * that many. */
static int find_lines(struct log_reader *reader, uint64_t needed, unsigned filter,
                      uint64_t *ret_offset, struct hutch_error *err)
{
    uint64_t found = 0;
    bool at_end = true;
    for (size_t i = reader->segments.count; i-- > 0;) {
        struct lines lines;
        if (!open_segment(reader, i, false))
            continue;
        int r = count_lines(&reader->cursor, filter, &lines, err);
        if (r < 0)
            return r;
        if (at_end && !lines.is_empty) { /* the very last newline ends a line, and begins none */
            at_end = false;
            needed += lines.ends_in_newline;
        }
        found += lines.newlines;
        if (found < needed)
            continue;
        if (!open_segment(reader, i, false))
            return 0;
        r = behind_newline(&reader->cursor, filter, found - needed + 1, ret_offset, err);
        return r < 0 ? r : 1;
    }
    return 0;
}

/* Where the next byte will be, as far as can be told. */
static int find_end(struct log_reader *reader, uint64_t *ret_offset, struct hutch_error *err)
{
    const struct log_segments *segments = &reader->segments;
    struct log_frame frame;
    int r = 0;
    uint64_t end = segments->count ? segments->starts[segments->count - 1] : 0;
    if (segments->count && open_segment(reader, segments->count - 1, true)) {
        while ((r = next_frame(&reader->cursor, &frame, err)) > 0)
            log_cursor_skip(&reader->cursor, &frame);
        end = reader->cursor.floor;
    }
    *ret_offset = segments->ended && segments->end > end ? segments->end : end;
    return r;
}

int log_reader_tail(struct log_reader *reader, uint64_t lines, unsigned filter,
                    struct hutch_error *err)
{
    uint64_t offset = 0;
    int r = log_segments_list(reader->dir, &reader->segments, err);
    if (r < 0)
        return r;
    if (lines == 0)
        r = find_end(reader, &offset, err);
    else if (lines < UINT64_MAX)
        r = find_lines(reader, lines, filter, &offset, err);
    if (r < 0)
        return r;
    log_reader_seek(reader, offset);
    return 0;
}

/* ---- a time ---- */

/* How many segments begin before the time; all frames of those behind them are later. */
static int count_before(struct log_reader *reader, uint64_t time_us, size_t *ret_count,
                        struct hutch_error *err)
{
    size_t i = reader->segments.count;
    for (; i > 0; i--) {
        struct log_frame frame;
        if (!open_segment(reader, i - 1, true))
            continue;
        int r = next_frame(&reader->cursor, &frame, err);
        if (r < 0)
            return r;
        if (r > 0 && frame.time_us < time_us)
            break;
    }
    *ret_count = i;
    return 0;
}

/* Returns 1 with the offset, or 0 when all of the segment is older. */
static int find_time(struct log_cursor *cursor, uint64_t time_us, uint64_t *ret_offset,
                     struct hutch_error *err)
{
    struct log_frame frame;
    int r;
    while ((r = next_frame(cursor, &frame, err)) > 0) {
        if (frame.time_us >= time_us) {
            *ret_offset = frame.offset;
            return 1;
        }
        log_cursor_skip(cursor, &frame);
    }
    *ret_offset = cursor->floor;
    return r;
}

int log_reader_since(struct log_reader *reader, uint64_t time_us, struct hutch_error *err)
{
    uint64_t offset = 0;
    size_t before = 0;
    int r = log_segments_list(reader->dir, &reader->segments, err);
    if (r == 0)
        r = count_before(reader, time_us, &before, err);
    if (r < 0)
        return r;
    for (size_t i = before ? before - 1 : reader->segments.count; i < reader->segments.count; i++) {
        if (!open_segment(reader, i, true))
            continue;
        r = find_time(&reader->cursor, time_us, &offset, err);
        if (r < 0)
            return r;
        if (r > 0)
            break;
    }
    log_reader_seek(reader, offset);
    return 0;
}
