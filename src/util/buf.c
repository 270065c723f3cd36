/* SPDX-License-Identifier: Apache-2.0 */
#include "util/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/own.h"

static bool grow(struct hutch_buf *buf, size_t capacity)
{
    const char *owners = buf->is_borrowed ? buf->data : NULL;
    char *data = realloc(owners ? NULL : buf->data, capacity);
    if (!data)
        return false;
    if (owners)
        memcpy(data, owners, buf->length);
    buf->data = data;
    buf->capacity = capacity;
    buf->is_borrowed = false;
    return true;
}

static bool reserve(struct hutch_buf *buf, size_t more)
{
    if (buf->failed)
        return false;
    if (more > buf->ceiling || buf->length > buf->ceiling - more) {
        buf->failed = true;
        return false;
    }
    size_t needed = buf->length + more + 1;
    if (needed <= buf->capacity)
        return true;
    size_t capacity = buf->capacity ? buf->capacity * 2 : 1000;
    buf->failed = !grow(buf, capacity < needed ? needed : capacity);
    return !buf->failed;
}

void hutch_buf_append(struct hutch_buf *buf, const void *data, size_t length)
{
    if (!reserve(buf, length))
        return;
    if (length)
        memcpy(buf->data + buf->length, data, length);
    buf->length += length;
    buf->data[buf->length] = '\0';
}

void hutch_buf_puts(struct hutch_buf *buf, const char *text)
{
    hutch_buf_append(buf, text, strlen(text));
}

/* What fits is written at once; otherwise its length is known, and it is written again. */
void hutch_buf_printf(struct hutch_buf *buf, const char *fmt, ...)
{
    va_list args;
    size_t room = buf->failed ? 0 : buf->capacity - buf->length;
    va_start(args, fmt);
    int length = vsnprintf(room ? buf->data + buf->length : NULL, room, fmt, args);
    va_end(args);
    if (length < 0 || !reserve(buf, (size_t)length)) {
        buf->failed = true;
        if (room)
            buf->data[buf->length] = '\0';
        return;
    }
    if ((size_t)length >= room) {
        va_start(args, fmt);
        (void)vsnprintf(buf->data + buf->length, (size_t)length + 1, fmt, args);
        va_end(args);
    }
    buf->length += (size_t)length;
}

void hutch_buf_uint(struct hutch_buf *buf, uint64_t value)
{
    char digits[20];
    size_t at = sizeof(digits);
    do
        digits[--at] = (char)('0' + value % 10);
    while (value /= 10);
    hutch_buf_append(buf, digits + at, sizeof(digits) - at);
}

void hutch_buf_reserve(struct hutch_buf *buf, size_t length)
{
    (void)reserve(buf, length);
}

void hutch_buf_wipe(struct hutch_buf *buf)
{
    if (buf->data)
        explicit_bzero(buf->data, buf->capacity);
    hutch_buf_done(buf);
}

void hutch_buf_done(struct hutch_buf *buf)
{
    if (!buf->is_borrowed)
        free(buf->data);
    *buf = (struct hutch_buf)HUTCH_BUF(buf->ceiling);
}

int hutch_buf_take(struct hutch_buf *buf, char **ret_text, size_t *ret_length,
                   struct hutch_error *err)
{
    if ((!buf->data || buf->is_borrowed) && !buf->failed)
        buf->failed = !grow(buf, buf->length + 1);
    if (buf->failed || !buf->data)
        return hutch_fail_nomem(err);
    buf->data[buf->length] = '\0';
    if (ret_length)
        *ret_length = buf->length;
    *ret_text = HUTCH_TAKE_PTR(buf->data);
    hutch_buf_done(buf);
    return 0;
}
