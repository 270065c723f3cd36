/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/http.h"

#include <string.h>
#include <strings.h>

#include "util/own.h"

#define MAX_METHOD 32

static bool is_token(char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
           (c && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Visible, a blank, or beyond ASCII. */
static bool is_text(char c)
{
    unsigned char byte = (unsigned char)c;
    return byte == '\t' || (byte >= ' ' && byte != 127);
}

static bool all(struct http_span span, bool (*test)(char))
{
    for (size_t i = 0; i < span.length; i++)
        if (!test(span.at[i]))
            return false;
    return true;
}

static bool is_target(char c)
{
    return is_text(c) && !is_blank(c);
}

bool http_span_is(const struct http_span *span, const char *text)
{
    return span->length == strlen(text) && !strncasecmp(span->at, text, span->length);
}

static bool begins_with(const struct http_span *span, const char *text)
{
    size_t length = strlen(text);
    return span->length >= length && !strncasecmp(span->at, text, length);
}

/* What comes before the character, which is taken off too. */
static bool cut(struct http_span *rest, char c, struct http_span *ret_span)
{
    const char *end = memchr(rest->at, c, rest->length);
    if (!end)
        return false;
    *ret_span = (struct http_span){rest->at, (size_t)(end - rest->at)};
    rest->at = end + 1;
    rest->length -= ret_span->length + 1;
    return true;
}

bool http_header_parse(struct http_span line, struct http_header *ret_header)
{
    struct http_span value = line, name;
    if (!cut(&value, ':', &name) || !name.length || !all(name, is_token) || !all(value, is_text))
        return false;
    while (value.length && is_blank(value.at[0])) {
        value.at++;
        value.length--;
    }
    while (value.length && is_blank(value.at[value.length - 1]))
        value.length--;
    *ret_header = (struct http_header){.line = line, .name = name, .value = value};
    return true;
}

/* ---- which host ---- */

/* "name" or "name:port". Without a port it is the one that was dialled. */
static bool authority_is(struct http_span authority, const char *name, uint16_t port)
{
    char canonical[EGRESS_NAME_BYTES];
    struct http_span rest = authority, host;
    if (!cut(&rest, ':', &host))
        host = authority;
    else if (rest.length) {
        unsigned long value = 0;
        if (rest.length > 5)
            return false;
        for (size_t i = 0; i < rest.length; i++) {
            if (rest.at[i] < '0' || rest.at[i] > '9')
                return false;
            value = value * 10 + (unsigned long)(rest.at[i] - '0');
        }
        if (value != port)
            return false;
    }
    return egress_name(host.at, host.length, canonical) && !strcmp(canonical, name);
}

/* "/path", "http://authority/path", or "*" of OPTIONS. */
static const char *check_target(const struct http_head *head, const char *name, uint16_t port)
{
    static const char *const schemes[] = {"http://", "https://"};
    struct http_span rest = head->target, authority;
    if (http_span_is(&head->method, "CONNECT"))
        return "CONNECT is for proxies";
    if (!head->target.length || !all(head->target, is_target))
        return "its target is malformed";
    if (rest.at[0] == '/' ||
        (http_span_is(&head->target, "*") && http_span_is(&head->method, "OPTIONS")))
        return NULL;
    for (size_t i = 0; i < HUTCH_COUNT(schemes); i++) {
        if (!begins_with(&rest, schemes[i]))
            continue;
        rest.at += strlen(schemes[i]);
        rest.length -= strlen(schemes[i]);
        authority = (struct http_span){rest.at, 0};
        while (authority.length < rest.length && !strchr("/?#", rest.at[authority.length]))
            authority.length++;
        return authority_is(authority, name, port) ? NULL : "its target names another host";
    }
    return "its target is malformed";
}

/* ---- headers with a meaning for us ---- */

struct reading {
    struct http_head *head;
    const char *name;
    uint16_t port;
    bool has_host;
};

static const char *read_host(struct reading *reading, struct http_header *header)
{
    if (reading->has_host)
        return "it has two Host headers";
    reading->has_host = true;
    return authority_is(header->value, reading->name, reading->port) ? NULL
                                                                     : "Host is another host";
}

static const char *read_length(struct reading *reading, struct http_header *header)
{
    struct http_head *head = reading->head;
    if (head->has_length)
        return "it has two Content-Length headers";
    head->has_length = true;
    if (!header->value.length || header->value.length > 18)
        return "Content-Length is no number";
    for (size_t i = 0; i < header->value.length; i++) {
        char digit = header->value.at[i];
        if (digit < '0' || digit > '9')
            return "Content-Length is no number";
        head->content_length = head->content_length * 10 + (uint64_t)(digit - '0');
    }
    return NULL;
}

static const char *read_encoding(struct reading *reading, struct http_header *header)
{
    if (reading->head->is_chunked)
        return "it has two Transfer-Encoding headers";
    reading->head->is_chunked = true;
    return http_span_is(&header->value, "chunked") ? NULL : "Transfer-Encoding is not chunked";
}

/* Somewhere in a list of protocols: HTTP, TLS for it, or HTTP/2 by its short names. */
static bool names_http(const struct http_span *value)
{
    static const char *const protocols[] = {"h2", "http/", "tls/"};
    for (struct http_span rest = *value; rest.length; rest.at++, rest.length--)
        for (size_t i = 0; i < HUTCH_COUNT(protocols); i++)
            if (begins_with(&rest, protocols[i]))
                return true;
    return false;
}

/* To HTTP/2 nobody has to upgrade, and in it every request would name its own host: the wish is
 * taken out, and the server answers as if it had not agreed. */
static const char *read_upgrade(struct reading *reading, struct http_header *header)
{
    if (http_span_is(&header->value, "h2c"))
        header->is_dropped = reading->head->is_edited = true;
    else if (names_http(&header->value))
        return "it wants to go on with another HTTP";
    else
        reading->head->has_upgrade = true;
    return NULL;
}

static const char *read_settings(struct reading *reading, struct http_header *header)
{
    header->is_dropped = reading->head->is_edited = true;
    return NULL;
}

static const struct {
    const char *name;
    const char *(*read)(struct reading *reading, struct http_header *header);
} meanings[] = {
    {"Host", read_host},
    {"Content-Length", read_length},
    {"Transfer-Encoding", read_encoding},
    {"Upgrade", read_upgrade},
    {"HTTP2-Settings", read_settings},
};

static const char *read_header(struct reading *reading, struct http_span line)
{
    struct http_head *head = reading->head;
    struct http_header *header = &head->headers[head->header_count];
    if (head->header_count == HTTP_MAX_HEADERS)
        return "it has too many headers";
    if (!http_header_parse(line, header))
        return "a header is malformed";
    head->header_count++;
    for (size_t i = 0; i < HUTCH_COUNT(meanings); i++)
        if (http_span_is(&header->name, meanings[i].name))
            return meanings[i].read(reading, header);
    return NULL;
}

static const char *read_request_line(struct reading *reading, struct http_span line)
{
    struct http_head *head = reading->head;
    struct http_span rest = line;
    head->request_line = line;
    if (!cut(&rest, ' ', &head->method) || !head->method.length ||
        head->method.length > MAX_METHOD || !all(head->method, is_token) ||
        !cut(&rest, ' ', &head->target))
        return "its first line is no request";
    head->is_1_0 = rest.length == 8 && !memcmp(rest.at, "HTTP/1.0", 8);
    if (!head->is_1_0 && (rest.length != 8 || memcmp(rest.at, "HTTP/1.1", 8) != 0))
        return "it is not HTTP/1.1";
    return check_target(head, reading->name, reading->port);
}

static const char *check_whole(const struct reading *reading)
{
    const struct http_head *head = reading->head;
    if (!reading->has_host)
        return "it has no Host header";
    if (head->is_chunked && head->has_length)
        return "it has both Content-Length and Transfer-Encoding";
    if (head->is_chunked && head->is_1_0)
        return "HTTP/1.0 has no Transfer-Encoding";
    return NULL;
}

enum http_verdict http_head_parse(const char *data, size_t length, const char *name, uint16_t port,
                                  struct http_head *ret_head, const char **ret_problem)
{
    struct reading reading = {.head = ret_head, .name = name, .port = port};
    struct http_span rest = {data, length};
    ret_head->bytes = ret_head->header_count = 0;
    ret_head->content_length = 0;
    ret_head->has_length = ret_head->is_chunked = ret_head->has_upgrade = false;
    ret_head->is_edited = false;
    for (bool is_first = true;; is_first = false) {
        struct http_span line;
        if (!cut(&rest, '\n', &line)) {
            *ret_problem = "its head is too long";
            return length >= HTTP_MAX_HEAD ? HTTP_REFUSED : HTTP_MORE;
        }
        if (!line.length || line.at[line.length - 1] != '\r') {
            *ret_problem = "a line of it does not end with CR LF";
            return HTTP_REFUSED;
        }
        line.length--;
        if (!is_first && !line.length)
            break;
        *ret_problem = is_first ? read_request_line(&reading, line) : read_header(&reading, line);
        if (*ret_problem)
            return HTTP_REFUSED;
    }
    ret_head->bytes = length - rest.length;
    *ret_problem = check_whole(&reading);
    return *ret_problem ? HTTP_REFUSED : HTTP_GOOD;
}
