/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON writer onto a hutch_buf: commas are its business, order is the caller's. */
#ifndef HUTCH_UTIL_JSON_OUT_H
#define HUTCH_UTIL_JSON_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buf.h"

struct hutch_json_out {
    struct hutch_buf *buf;
    bool needs_comma;
};

/* key is NULL for an element of an array or the document itself. */
void hutch_json_open(struct hutch_json_out *out, const char *key, char bracket); /* '{' or '[' */
void hutch_json_close(struct hutch_json_out *out, char bracket);                 /* '}' or ']' */
void hutch_json_string(struct hutch_json_out *out, const char *key,
                       const char *text); /* NULL: null */
void hutch_json_stringn(struct hutch_json_out *out, const char *key, const char *text,
                        size_t length);
void hutch_json_base64(struct hutch_json_out *out, const char *key, const void *data,
                       size_t length);
void hutch_json_uint(struct hutch_json_out *out, const char *key, uint64_t value);
void hutch_json_int(struct hutch_json_out *out, const char *key, int64_t value);
void hutch_json_bool(struct hutch_json_out *out, const char *key, bool value);
/* A value that is JSON already. */
void hutch_json_raw(struct hutch_json_out *out, const char *key, const char *json);
void hutch_json_null(struct hutch_json_out *out, const char *key);

/* Well-formed UTF-8 (no surrogates, no overlong forms, at most U+10FFFF)? */
bool hutch_utf8_valid(const char *text, size_t length);

#endif
