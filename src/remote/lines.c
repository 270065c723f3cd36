/* SPDX-License-Identifier: Apache-2.0 */
#include "remote/lines.h"

#include <openssl/evp.h>
#include <string.h>

#include "remote/client.h"

/* Base64 of any length, with what it stands for behind it in the same buffer. */
static int decode(struct hutch_buf *bytes, const char *text, size_t length, struct hutch_error *err)
{
    bytes->length = 0;
    hutch_buf_reserve(bytes, length / 4 * 3 + 4);
    if (bytes->failed || length % 4 || length > REMOTE_LINE_CEILING)
        return remote_fail_strange(err, "a piece of output that is no base64");
    int got =
        EVP_DecodeBlock((unsigned char *)bytes->data, (const unsigned char *)text, (int)length);
    if (length && got < 0)
        return remote_fail_strange(err, "a piece of output that is no base64");
    size_t padding = length && text[length - 1] == '=' ? 1 : 0;
    padding += length > 1 && text[length - 2] == '=' ? 1 : 0;
    bytes->length = length ? (size_t)got - padding : 0;
    return 0;
}

static int take_piece(struct remote_lines *lines, const json_t *row, struct hutch_error *err)
{
    const char *stream = remote_text(row, "stream");
    const char *encoding = remote_text(row, "encoding");
    const json_t *data = json_object_get(row, "data");
    if (!stream || (strcmp(stream, "stdout") != 0 && strcmp(stream, "stderr") != 0) ||
        !json_is_string(data))
        return lines->on_row ? lines->on_row(lines->userdata, row, err) : 0;
    struct remote_piece piece = {.stream = strcmp(stream, "stderr") ? HUTCH_STDOUT : HUTCH_STDERR,
                                 .after = remote_number(row, "offset", 0),
                                 .lost_bytes = remote_number(row, "lost", 0),
                                 .time_us = remote_number(row, "time_us", 0),
                                 .data = json_string_value(data),
                                 .length = json_string_length(data)};
    if (encoding) {
        if (strcmp(encoding, "base64") != 0)
            return remote_fail_strange(err, "a piece of output in an unknown encoding");
        if (decode(&lines->bytes, piece.data, piece.length, err) < 0)
            return -(int)err->code;
        piece.data = lines->bytes.data;
        piece.length = lines->bytes.length;
    }
    return lines->on_piece(lines->userdata, &piece, err);
}

static int take_line(struct remote_lines *lines, const char *text, size_t length,
                     struct hutch_error *err)
{
    if (!length)
        return 0; /* keeps the connection alive */
    remote_autojson json_t *row = json_loadb(text, length, JSON_ALLOW_NUL, NULL);
    json_t *result = json_object_get(row, "result");
    if (!json_is_object(row))
        return remote_fail_strange(err, "a line that is no JSON");
    if (json_object_get(row, "error"))
        return remote_fail_problem(json_object_get(row, "error"), err);
    if (!result)
        return take_piece(lines, row, err);
    json_decref(lines->result);
    lines->result = json_incref(result);
    return 0;
}

int remote_lines_feed(void *userdata, const char *data, size_t length, struct hutch_error *err)
{
    struct remote_lines *lines = userdata;
    while (length) {
        const char *end = memchr(data, '\n', length);
        size_t step = end ? (size_t)(end - data) : length;
        bool is_whole = end && !lines->line.length; /* it need not be gathered */
        if (!is_whole)
            hutch_buf_append(&lines->line, data, step);
        if (lines->line.failed)
            return remote_fail_strange(err, "a line without an end");
        if (end) {
            int failed = is_whole ? take_line(lines, data, step, err)
                                  : take_line(lines, lines->line.data, lines->line.length, err);
            if (failed)
                return failed;
            lines->line.length = 0;
            step++;
        }
        data += step;
        length -= step;
    }
    return 0;
}

void remote_lines_done(struct remote_lines *lines)
{
    hutch_buf_done(&lines->line);
    hutch_buf_done(&lines->bytes);
    json_decref(lines->result);
    lines->result = NULL;
}
