/* SPDX-License-Identifier: Apache-2.0 */
#include "server/line_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "server/util.h"

#define CHUNK_BYTES ((size_t)16 << 10)

void line_reader_done(struct line_reader *reader)
{
    free(reader->data);
    reader->data = NULL;
    reader->length = reader->capacity = 0;
}

/* False at the end, also of what can be kept. */
static bool read_more(struct line_reader *reader)
{
    if (reader->capacity - reader->length < CHUNK_BYTES) {
        size_t capacity = reader->capacity ? reader->capacity * 2 : CHUNK_BYTES * 2;
        char *more = realloc(reader->data, capacity);
        if (!more)
            return false;
        reader->data = more;
        reader->capacity = capacity;
    }
    ssize_t got = -1;
    do
        got = read(reader->fd, reader->data + reader->length, CHUNK_BYTES);
    while (got < 0 && errno == EINTR);
    if (got <= 0)
        return false;
    reader->length += (size_t)got;
    return true;
}

static void drop(struct line_reader *reader, size_t length)
{
    reader->length -= length;
    memmove(reader->data, reader->data + length, reader->length);
}

static bool is_blank(const char *text, size_t length)
{
    while (length && strchr(" \t\r", text[length - 1]) && text[length - 1])
        length--;
    return !length;
}

static void fail_long(struct line_reader *reader, struct line *line)
{
    line->index = reader->index;
    (void)server_fail(&line->err, HUTCH_E_INVALID,
                      "the line has more than %zu bytes; send it in smaller parts",
                      reader->most_bytes);
}

/* Takes the first length bytes out as a line. False: there is nothing to tell of it. */
static bool take(struct line_reader *reader, size_t length, struct line *line)
{
    bool is_told = !reader->is_skipped && !is_blank(reader->data, length);
    line->index = reader->index++;
    line->length = length;
    if (is_told && length > reader->most_bytes) {
        line->length = 0;
        fail_long(reader, line);
        line->index--;
        return true;
    }
    line->text = is_told ? malloc(length + 1) : NULL;
    if (is_told && !line->text)
        (void)server_fail_nomem(&line->err);
    if (line->text) {
        memcpy(line->text, reader->data, length);
        line->text[length] = '\0';
    }
    reader->is_skipped = false;
    return is_told;
}

bool line_reader_next(struct line_reader *reader, struct line *ret_line)
{
    size_t looked = 0;
    for (;;) {
        struct line line = {0};
        char *end = reader->length > looked
                        ? memchr(reader->data + looked, '\n', reader->length - looked)
                        : NULL;
        if (end || (reader->has_ended && reader->length)) {
            size_t length = end ? (size_t)(end - reader->data) : reader->length;
            bool is_told = take(reader, length, &line);
            drop(reader, length + (end ? 1 : 0));
            looked = 0;
            if (is_told) {
                *ret_line = line;
                return true;
            }
            continue;
        }
        if (reader->has_ended)
            return false;
        looked = reader->length;
        if (looked > reader->most_bytes) {
            bool was_skipped = reader->is_skipped;
            drop(reader, looked);
            looked = 0;
            reader->is_skipped = true;
            if (!was_skipped) {
                fail_long(reader, &line);
                *ret_line = line;
                return true;
            }
        }
        reader->has_ended = !read_more(reader);
    }
}
