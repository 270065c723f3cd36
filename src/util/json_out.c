/* SPDX-License-Identifier: Apache-2.0 */
#include "util/json_out.h"

#include <string.h>

#include "util/own.h"

/* The well-formed sequences longer than one byte (Unicode 15, table 3-7). Only the second byte's
 * range depends on the first; every later one is 80..BF. */
struct utf8_form {
    unsigned char first_low, first_high;
    unsigned char second_low, second_high;
    unsigned char length;
};

static const struct utf8_form utf8_forms[] = {
    {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3}, {0xE1, 0xEC, 0x80, 0xBF, 3},
    {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3}, {0xF0, 0xF0, 0x90, 0xBF, 4},
    {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
};

/* Length of the well-formed character at text, 0 when there is none. left is at least 1. */
static size_t utf8_length(const unsigned char *text, size_t left)
{
    if (text[0] < 0x80)
        return 1;
    for (size_t i = 0; i < HUTCH_COUNT(utf8_forms); i++) {
        const struct utf8_form *form = &utf8_forms[i];
        if (text[0] < form->first_low || text[0] > form->first_high)
            continue;
        if (left < form->length || text[1] < form->second_low || text[1] > form->second_high)
            return 0;
        for (size_t k = 2; k < form->length; k++)
            if ((text[k] & 0xC0) != 0x80)
                return 0;
        return form->length;
    }
    return 0;
}

bool hutch_utf8_valid(const char *text, size_t length)
{
    const unsigned char *at = (const unsigned char *)text;
    while (length) {
        uint64_t eight;
        size_t step = sizeof(eight);
        if (length >= sizeof(eight)) {
            memcpy(&eight, at, sizeof(eight));
            if (eight & UINT64_C(0x8080808080808080))
                step = utf8_length(at, length);
        } else {
            step = utf8_length(at, length);
        }
        if (!step)
            return false;
        at += step;
        length -= step;
    }
    return true;
}

/* Escapes one character JSON does not take as it is. */
static void put_escaped(struct hutch_buf *buf, unsigned char c)
{
    static const char letters[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    for (size_t i = 0; i + 1 < sizeof(letters); i += 2) {
        if ((unsigned char)letters[i] == c) {
            char pair[2] = {'\\', letters[i + 1]};
            hutch_buf_append(buf, pair, sizeof(pair));
            return;
        }
    }
    hutch_buf_printf(buf, "\\u%04x", c);
}

/* Length of the run at text that can be copied unchanged. */
static size_t plain_run(const unsigned char *text, size_t length)
{
    size_t run = 0;
    while (run < length) {
        unsigned char c = text[run];
        if (c < 0x20 || c == '"' || c == '\\')
            break;
        size_t step = utf8_length(text + run, length - run);
        if (!step)
            break;
        run += step;
    }
    return run;
}

/* Whatever the bytes are, what is written is valid JSON: a byte that is not UTF-8 becomes U+FFFD.
 * Callers that must not lose bytes check with hutch_utf8_valid() first. */
static void put_quoted(struct hutch_buf *buf, const char *text, size_t length)
{
    const unsigned char *at = (const unsigned char *)text;
    hutch_buf_append(buf, "\"", 1);
    while (length) {
        size_t run = plain_run(at, length);
        hutch_buf_append(buf, at, run);
        at += run;
        length -= run;
        if (!length)
            break;
        if (*at < 0x80)
            put_escaped(buf, *at);
        else
            hutch_buf_puts(buf, "\xEF\xBF\xBD");
        at++;
        length--;
    }
    hutch_buf_append(buf, "\"", 1);
}

/* What comes before any value: a comma where one is due, and the key. */
static void begin(struct hutch_json_out *out, const char *key)
{
    if (out->needs_comma)
        hutch_buf_append(out->buf, ",", 1);
    if (key) {
        put_quoted(out->buf, key, strlen(key));
        hutch_buf_append(out->buf, ":", 1);
    }
    out->needs_comma = true;
}

void hutch_json_open(struct hutch_json_out *out, const char *key, char bracket)
{
    begin(out, key);
    hutch_buf_append(out->buf, &bracket, 1);
    out->needs_comma = false;
}

void hutch_json_close(struct hutch_json_out *out, char bracket)
{
    hutch_buf_append(out->buf, &bracket, 1);
    out->needs_comma = true;
}

void hutch_json_stringn(struct hutch_json_out *out, const char *key, const char *text,
                        size_t length)
{
    begin(out, key);
    put_quoted(out->buf, text, length);
}

void hutch_json_string(struct hutch_json_out *out, const char *key, const char *text)
{
    if (text)
        hutch_json_stringn(out, key, text, strlen(text));
    else
        hutch_json_null(out, key);
}

/* One to three bytes become four letters, padded with '='. */
static void encode_group(const unsigned char *data, size_t length, char *letters)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = (uint32_t)data[0] << 16;
    if (length > 1)
        bits |= (uint32_t)data[1] << 8;
    if (length > 2)
        bits |= data[2];
    letters[0] = alphabet[bits >> 18];
    letters[1] = alphabet[(bits >> 12) & 63];
    letters[2] = '=';
    letters[3] = '=';
    if (length > 1)
        letters[2] = alphabet[(bits >> 6) & 63];
    if (length > 2)
        letters[3] = alphabet[bits & 63];
}

void hutch_json_base64(struct hutch_json_out *out, const char *key, const void *data, size_t length)
{
    const unsigned char *at = data;
    char chunk[1024];
    size_t filled = 0;
    begin(out, key);
    hutch_buf_append(out->buf, "\"", 1);
    while (length) {
        size_t group = length < 3 ? length : 3;
        encode_group(at, group, chunk + filled);
        filled += 4;
        at += group;
        length -= group;
        if (filled == sizeof(chunk) || !length) {
            hutch_buf_append(out->buf, chunk, filled);
            filled = 0;
        }
    }
    hutch_buf_append(out->buf, "\"", 1);
}

void hutch_json_uint(struct hutch_json_out *out, const char *key, uint64_t value)
{
    begin(out, key);
    hutch_buf_uint(out->buf, value);
}

void hutch_json_int(struct hutch_json_out *out, const char *key, int64_t value)
{
    begin(out, key);
    if (value < 0)
        hutch_buf_append(out->buf, "-", 1);
    hutch_buf_uint(out->buf, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void hutch_json_bool(struct hutch_json_out *out, const char *key, bool value)
{
    begin(out, key);
    hutch_buf_puts(out->buf, value ? "true" : "false");
}

void hutch_json_raw(struct hutch_json_out *out, const char *key, const char *json)
{
    begin(out, key);
    hutch_buf_puts(out->buf, json);
}

void hutch_json_null(struct hutch_json_out *out, const char *key)
{
    begin(out, key);
    hutch_buf_puts(out->buf, "null");
}
