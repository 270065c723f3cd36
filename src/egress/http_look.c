/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <strings.h>

#include "egress/http.h"

#define MAX_METHOD 64 /* of a request that any server takes */

static bool is_blank_or_end(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == '\f';
}

static bool is_visible(char c)
{
    return c > ' ' && c < 127;
}

static bool mentions_version(const char *line, size_t length)
{
    for (; length >= 5; line++, length--)
        if (!strncasecmp(line, "HTTP/", 5))
            return true;
    return false;
}

enum http_look http_look_at(const char *data, size_t length, size_t *ret_leading)
{
    size_t leading = 0, method = 0;
    while (leading < length && is_blank_or_end(data[leading]))
        leading++;
    *ret_leading = leading;
    data += leading;
    length -= leading;
    while (method < length && is_visible(data[method]))
        method++;
    if (method > MAX_METHOD)
        return HTTP_LOOKS_UNLIKE;
    if (method == length)
        return HTTP_MAY_BE;
    if (!method || !is_blank_or_end(data[method]))
        return HTTP_LOOKS_UNLIKE;
    const char *end = memchr(data, '\n', length);
    if (!end)
        return HTTP_MAY_BE;
    return mentions_version(data, (size_t)(end - data)) ? HTTP_LOOKS_LIKE : HTTP_LOOKS_UNLIKE;
}

/* ---- answers ---- */

/* The end of the first head, or NULL. Servers may end lines with LF alone. */
static const char *head_end(const char *data, size_t length)
{
    for (size_t i = 0; i + 1 < length; i++)
        if (data[i] == '\n' &&
            (data[i + 1] == '\n' || (data[i + 1] == '\r' && i + 2 < length && data[i + 2] == '\n')))
            return data + i + (data[i + 1] == '\n' ? 2 : 3);
    return NULL;
}

enum http_answer http_answer_read(const char *data, size_t length)
{
    static const char begin[] = "HTTP/1.1 1";
    while (length >= sizeof(begin) + 1) {
        if (memcmp(data, begin, sizeof(begin) - 1) != 0)
            return HTTP_ANSWER_OTHER;
        const char *end = head_end(data, length);
        if (!end)
            return HTTP_ANSWER_MORE;
        if (data[10] == '0' && data[11] == '1')
            return HTTP_ANSWER_SWITCHED;
        length -= (size_t)(end - data);
        data = end;
    }
    return HTTP_ANSWER_MORE;
}
