/* SPDX-License-Identifier: Apache-2.0 */
/* The head of an answer. It is made in the server's own memory, for one at a time is made. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "http/connection.h"
#include "util/own.h"

struct out {
    struct buffer *buffer;
    bool failed;
};

static void put(struct out *out, const char *text, size_t length)
{
    out->failed |= !buffer_add(out->buffer, text, length);
}

static void put_text(struct out *out, const char *text)
{
    put(out, text, strlen(text));
}

#define PUT(out, literal) put((out), (literal), sizeof(literal) - 1)

static void put_number(struct out *out, uint64_t number)
{
    char digits[20];
    size_t at = sizeof(digits);
    do
        digits[--at] = (char)('0' + number % 10);
    while (number /= 10);
    put(out, digits + at, sizeof(digits) - at);
}

/* A value that holds a line of its own would be a header field of somebody else's making. */
static void put_value(struct out *out, const char *value)
{
    while (*value) {
        size_t plain = 0;
        while ((unsigned char)value[plain] >= ' ' && value[plain] != 0x7f)
            plain++;
        put(out, value, plain);
        value += plain;
        if (*value) {
            PUT(out, "_");
            value++;
        }
    }
}

static const char *date_now(struct http_server *server)
{
    struct timespec now;
    struct tm parts;
    (void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
    if (server->date_second != now.tv_sec && gmtime_r(&now.tv_sec, &parts)) {
        /* The names of days and months are English whatever the locale: it is never set here. */
        (void)strftime(server->date, sizeof(server->date), "%a, %d %b %Y %H:%M:%S GMT", &parts);
        server->date_second = now.tv_sec;
    }
    return server->date;
}

/* What is said about the length and the connection is ours to say. */
static bool is_ours(const char *name)
{
    static const char *const ours[] = {"content-length", "transfer-encoding", "connection", "date",
                                       "x-request-id"};
    for (size_t i = 0; i < HUTCH_COUNT(ours); i++)
        if (!strcasecmp(name, ours[i]))
            return true;
    return false;
}

static void put_given(struct out *out, const struct http_header *headers)
{
    bool has_cache_control = false;
    for (; headers && headers->name; headers++) {
        if (is_ours(headers->name))
            continue;
        has_cache_control |= !strcasecmp(headers->name, "cache-control");
        put_text(out, headers->name);
        PUT(out, ": ");
        put_value(out, headers->value);
        PUT(out, "\r\n");
    }
    if (!has_cache_control)
        PUT(out, "Cache-Control: no-store\r\n");
}

static void put_length(struct out *out, int status, uint64_t length, bool is_chunked)
{
    if (status < 200 || status == 204 || status == 304)
        return;
    if (is_chunked) {
        PUT(out, "Transfer-Encoding: chunked\r\n");
    } else if (length != HTTP_LENGTH_UNKNOWN) {
        PUT(out, "Content-Length: ");
        put_number(out, length);
        PUT(out, "\r\n");
    }
}

static void put_connection(struct out *out, const struct http_exchange *exchange, int status)
{
    if (status == 101)
        PUT(out, "Connection: Upgrade\r\n");
    else if (!exchange->keep_alive)
        PUT(out, "Connection: close\r\n");
    else if (exchange->head.is_1_0)
        PUT(out, "Connection: keep-alive\r\n");
}

bool answer_head_make(struct http_exchange *exchange, int status, const struct http_header *headers,
                      uint64_t length, bool is_chunked)
{
    struct http_server *server = exchange->connection->server;
    struct out out = {.buffer = &server->head};
    server->head.start = server->head.length = 0; /* its memory stays */
    PUT(&out, "HTTP/1.1 ");
    put_number(&out, (uint64_t)status);
    PUT(&out, " ");
    put_text(&out, http_status_text(status));
    PUT(&out, "\r\nDate: ");
    put_text(&out, date_now(server));
    PUT(&out, "\r\nX-Request-Id: ");
    put_text(&out, exchange->request_id);
    PUT(&out, "\r\nX-Content-Type-Options: nosniff\r\n");
    put_given(&out, headers);
    put_length(&out, status, length, is_chunked);
    put_connection(&out, exchange, status);
    PUT(&out, "\r\n");
    return !out.failed;
}
