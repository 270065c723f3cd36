/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "egress/http.h"

#define MAX_TRAILER 8192
#define MAX_CHUNK_DIGITS 15

void http_filter_init(struct http_filter *filter, const char *name, uint16_t port)
{
    *filter = (struct http_filter){.name = name, .port = port};
}

static enum http_step stop(struct http_filter *filter, const char *problem)
{
    filter->problem = problem;
    return HTTP_STOP;
}

/* Empty lines before a request are ignored, as RFC 9112 wants it. */
static enum http_step step_head(struct http_filter *filter, const char *data, size_t length,
                                struct http_head *ret_head, size_t *ret_bytes)
{
    const char *problem;
    if (data[0] == '\r' && length == 1)
        return HTTP_WAIT;
    if (data[0] == '\r' && data[1] == '\n') {
        *ret_bytes = 2;
        return HTTP_DROP;
    }
    switch (http_head_parse(data, length, filter->name, filter->port, ret_head, &problem)) {
    case HTTP_MORE:
        return HTTP_WAIT;
    case HTTP_REFUSED:
        return stop(filter, problem);
    case HTTP_GOOD:
        break;
    }
    if (ret_head->has_upgrade && filter->requests)
        return stop(filter, "Upgrade is for the first request of a connection");
    if (ret_head->has_upgrade && (ret_head->is_chunked || ret_head->content_length))
        return stop(filter, "a request with Upgrade has no body");
    filter->requests++;
    filter->left = ret_head->content_length;
    filter->state = ret_head->has_upgrade  ? HTTP_AT_UPGRADE
                    : ret_head->is_chunked ? HTTP_AT_CHUNK
                    : filter->left         ? HTTP_IN_BODY
                                           : HTTP_AT_HEAD;
    *ret_bytes = ret_head->bytes;
    return HTTP_PASS_HEAD;
}

uint64_t http_filter_open(const struct http_filter *filter)
{
    return filter->state == HTTP_IN_BODY || filter->state == HTTP_IN_CHUNK ? filter->left : 0;
}

void http_filter_passed(struct http_filter *filter, uint64_t bytes)
{
    filter->left -= bytes;
    if (!filter->left)
        filter->state = filter->state == HTTP_IN_BODY ? HTTP_AT_HEAD : HTTP_AFTER_CHUNK;
}

static enum http_step step_body(struct http_filter *filter, size_t length, size_t *ret_bytes)
{
    *ret_bytes = length < filter->left ? length : (size_t)filter->left;
    http_filter_passed(filter, *ret_bytes);
    return HTTP_PASS;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Digits and the line's end, nothing else: extensions are nobody's and read differently by many. */
static enum http_step step_chunk(struct http_filter *filter, const char *data, size_t length,
                                 size_t *ret_bytes)
{
    uint64_t size = 0;
    size_t digits = 0;
    for (; digits < length && hex_value(data[digits]) >= 0; digits++) {
        if (digits == MAX_CHUNK_DIGITS)
            return stop(filter, "a chunk is too large");
        size = size << 4 | (uint64_t)hex_value(data[digits]);
    }
    if (digits == length || (digits && data[digits] == '\r' && digits + 1 == length))
        return HTTP_WAIT;
    if (!digits || data[digits] != '\r' || data[digits + 1] != '\n')
        return stop(filter, "a chunk is malformed");
    filter->left = size;
    filter->state = size ? HTTP_IN_CHUNK : HTTP_AT_TRAILER;
    filter->trailer_bytes = 0;
    *ret_bytes = digits + 2;
    return HTTP_PASS;
}

static enum http_step step_chunk_end(struct http_filter *filter, const char *data, size_t length,
                                     size_t *ret_bytes)
{
    if (data[0] != '\r' || (length > 1 && data[1] != '\n'))
        return stop(filter, "a chunk is malformed");
    if (length == 1)
        return HTTP_WAIT;
    filter->state = HTTP_AT_CHUNK;
    *ret_bytes = 2;
    return HTTP_PASS;
}

static bool trailer_is_good(struct http_span line)
{
    struct http_header header;
    return http_header_parse(line, &header) && !http_span_is(&header.name, "Host") &&
           !http_span_is(&header.name, "Content-Length") &&
           !http_span_is(&header.name, "Transfer-Encoding");
}

static enum http_step step_trailer(struct http_filter *filter, const char *data, size_t length,
                                   size_t *ret_bytes)
{
    const char *end = memchr(data, '\n', length);
    size_t bytes = end ? (size_t)(end - data) + 1 : length;
    if (filter->trailer_bytes + bytes > MAX_TRAILER)
        return stop(filter, "its trailer is too long");
    if (!end)
        return HTTP_WAIT;
    if (bytes < 2 || data[bytes - 2] != '\r')
        return stop(filter, "a line of it does not end with CR LF");
    if (bytes > 2 && !trailer_is_good((struct http_span){data, bytes - 2}))
        return stop(filter, "its trailer is malformed");
    filter->trailer_bytes += bytes;
    if (bytes == 2)
        filter->state = HTTP_AT_HEAD;
    *ret_bytes = bytes;
    return HTTP_PASS;
}

enum http_step http_filter_step(struct http_filter *filter, const char *data, size_t length,
                                struct http_head *ret_head, size_t *ret_bytes)
{
    *ret_bytes = 0;
    if (!length)
        return HTTP_WAIT;
    switch (filter->state) {
    case HTTP_AT_HEAD:
        return step_head(filter, data, length, ret_head, ret_bytes);
    case HTTP_IN_BODY:
    case HTTP_IN_CHUNK:
        return step_body(filter, length, ret_bytes);
    case HTTP_AT_CHUNK:
        return step_chunk(filter, data, length, ret_bytes);
    case HTTP_AFTER_CHUNK:
        return step_chunk_end(filter, data, length, ret_bytes);
    case HTTP_AT_TRAILER:
        return step_trailer(filter, data, length, ret_bytes);
    case HTTP_AT_UPGRADE:
        break;
    }
    return HTTP_WAIT;
}

void http_filter_go_on(struct http_filter *filter)
{
    filter->state = HTTP_AT_HEAD;
}
