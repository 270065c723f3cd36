/* SPDX-License-Identifier: Apache-2.0 */
/* The paths of requests: whatever a name holds, it stays one piece of the path. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "remote/client.h"

enum { PATH_CEILING = 64 << 10 };

static void append_encoded(struct hutch_buf *buf, const char *text)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~";
    for (; *text; text++)
        if (strchr(plain, *text))
            hutch_buf_append(buf, text, 1);
        else
            hutch_buf_printf(buf, "%%%02X", (unsigned char)*text);
}

/* "." and ".." would be taken for directories, on the way or there. */
static void append_piece(struct hutch_buf *buf, const char *text)
{
    if (!strcmp(text, ".") || !strcmp(text, ".."))
        for (; *text; text++)
            hutch_buf_puts(buf, "%2E");
    else
        append_encoded(buf, text);
}

static char *take(struct hutch_buf *buf)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    char *text = NULL;
    int failed = hutch_buf_take(buf, &text, NULL, &ignored);
    hutch_buf_done(buf);
    return failed ? NULL : text;
}

char *remote_path(const char *pattern, ...)
{
    struct hutch_buf buf = HUTCH_BUF(PATH_CEILING);
    va_list args;
    va_start(args, pattern);
    for (const char *gap; (gap = strstr(pattern, "{}")); pattern = gap + 2) {
        hutch_buf_append(&buf, pattern, (size_t)(gap - pattern));
        append_piece(&buf, va_arg(args, const char *));
    }
    va_end(args);
    hutch_buf_puts(&buf, pattern);
    return take(&buf);
}

char *remote_path_add(char *path, const char *key, const char *value)
{
    struct hutch_buf buf = HUTCH_BUF(PATH_CEILING);
    if (!path || !value)
        return path;
    hutch_buf_puts(&buf, path);
    hutch_buf_printf(&buf, "%c%s=", strchr(path, '?') ? '&' : '?', key);
    append_encoded(&buf, value);
    free(path);
    return take(&buf);
}

char *remote_path_add_number(char *path, const char *key, uint64_t value)
{
    char text[24];
    (void)snprintf(text, sizeof(text), "%" PRIu64, value);
    return remote_path_add(path, key, text);
}
