/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <strings.h>

#include "egress/http.h"
#include "util/own.h"

/* ---- requests ---- */

/* Servers differ in what is a blank: those of ASCII, the separators that Python and Java add, NEL
 * and the hard space of Latin-1, all of Unicode's. Any byte beyond ASCII may be the end of such a
 * one. */
static bool is_blank_to_some(char c)
{
    unsigned char byte = (unsigned char)c;
    return (byte >= '\t' && byte <= '\r') || (byte >= 0x1c && byte <= ' ') || byte >= 0x80;
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_visible(char c)
{
    return c > ' ' && c < 127;
}

static size_t count(struct http_span span, bool (*test)(char))
{
    size_t bytes = 0;
    while (bytes < span.length && test(span.at[bytes]))
        bytes++;
    return bytes;
}

static void skip(struct http_span *span, size_t bytes)
{
    span->at += bytes;
    span->length -= bytes;
}

/* In the line from this byte on: a word that begins like a version, whatever the words before it
 * are made of, and however long they are. Servers answer unknown methods and go on. */
static bool mentions_version(struct http_span line, size_t from)
{
    static const char version[] = "HTTP/";
    const size_t before = sizeof(version) - 2; /* bytes before its slash */
    const char *end = line.at + line.length, *slash;
    for (const char *at = line.at + from; (slash = memchr(at, '/', (size_t)(end - at)));
         at = slash + 1) {
        if ((size_t)(slash - line.at) < from + before)
            continue;
        const char *word = slash - before;
        if (!strncasecmp(word, version, sizeof(version) - 1) &&
            (word == line.at || is_blank_to_some(word[-1])))
            return true;
    }
    return false;
}

static struct http_span take_word(struct http_span *rest)
{
    struct http_span word;
    skip(rest, count(*rest, is_blank_to_some));
    word = *rest;
    while (rest->length && !is_blank_to_some(rest->at[0]))
        skip(rest, 1);
    word.length -= rest->length;
    return word;
}

static bool word_is(struct http_span word, const char *text)
{
    return word.length == strlen(text) && !memcmp(word.at, text, word.length);
}

/* Of lines that say HTTP nowhere. OPTIONS is missing because RTSP and SIP begin with it, and small
 * letters because memcached's commands have them. */
static bool is_method(struct http_span word)
{
    static const char *const methods[] = {"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH"};
    for (size_t i = 0; i < HUTCH_COUNT(methods); i++)
        if (word_is(word, methods[i]))
            return true;
    return false;
}

/* HTTP/0.9 has no version, and some servers take any word for one. */
static bool asks_for_target(struct http_span line)
{
    struct http_span method = take_word(&line), target = take_word(&line);
    return is_method(method) && target.length &&
           (target.at[0] == '/' || memmem(target.at, target.length, "://", 3));
}

/* "GET key" is a command of Redis, and a request to a server that wants no slash before a path:
 * such a server goes on with headers, or with the empty line behind them. Python's overlooks a line
 * that begins with a blank, or as mail does in a mailbox. */
static enum http_look look_at_second_line(struct http_span rest)
{
    size_t name = 0;
    if (rest.length && is_blank_to_some(rest.at[0]))
        return HTTP_LOOKS_LIKE;
    while (name < rest.length && rest.at[name] != ':' && !is_blank_to_some(rest.at[name]))
        name++;
    if (name == rest.length)
        return HTTP_MAY_BE;
    rest.length = name;
    return rest.at[name] == ':' || word_is(rest, "From") ? HTTP_LOOKS_LIKE : HTTP_LOOKS_UNLIKE;
}

/* A method so far, or with what ends it. */
static bool begins_with_method(struct http_span data)
{
    skip(&data, count(data, is_blank));
    size_t method = count(data, is_visible);
    return method == data.length || (method && is_blank(data.at[method]));
}

enum http_look http_look_at(const char *data, size_t length, size_t *ret_leading)
{
    const struct http_span all = {data, length};
    struct http_span line = all, rest;
    *ret_leading = count(all, is_blank_to_some);
    skip(&line, *ret_leading);
    rest = line;
    const char *end = memchr(line.at, '\n', line.length);
    if (end)
        line.length = (size_t)(end - line.at);
    if (mentions_version(line, 0) || asks_for_target(line))
        return HTTP_LOOKS_LIKE;
    skip(&rest, line.length + (end != NULL));
    struct http_span first = take_word(&line);
    enum http_look look = HTTP_LOOKS_UNLIKE;
    if (!end)
        look = begins_with_method(all) ? HTTP_MAY_BE : HTTP_HARDLY_IS;
    else if (word_is(first, "GET"))
        look = look_at_second_line(rest);
    /* What would tell comes behind all that can be kept. */
    bool is_too_long = look != HTTP_LOOKS_UNLIKE && length >= HTTP_MAX_HEAD && is_method(first);
    return is_too_long ? HTTP_LOOKS_LIKE : look;
}

enum http_look http_look_on(const char *data, size_t length)
{
    const char *end = memchr(data, '\n', length);
    struct http_span line = {data, end ? (size_t)(end - data) : length};
    if (line.length && mentions_version(line, 1))
        return HTTP_LOOKS_LIKE;
    return end ? HTTP_LOOKS_UNLIKE : HTTP_MAY_BE;
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
