/* SPDX-License-Identifier: Apache-2.0 */
#include "image/registry_flow.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

enum { HEADER_CEILING = 128 << 10 };

static bool is_good(long status)
{
    return status >= 200 && status < 300;
}

long http_status(const struct http_exchange *exchange)
{
    long status = 0;
    (void)curl_easy_getinfo(exchange->easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

size_t http_on_header(char *data, size_t size, size_t count, void *context)
{
    struct http_exchange *exchange = context;
    (void)data;
    exchange->header_bytes += size * count;
    if (exchange->header_bytes <= HEADER_CEILING)
        return size * count;
    (void)hutch_fail(&exchange->failure, HUTCH_E_INVALID, 0,
                     "the answer's headers are longer than %d bytes", HEADER_CEILING);
    return 0;
}

static size_t keep(struct http_exchange *exchange, const char *data, size_t length)
{
    struct hutch_buf *answer = &exchange->answer;
    curl_off_t announced = -1;
    (void)curl_easy_getinfo(exchange->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &announced);
    if (announced > (curl_off_t)exchange->ceiling || length > exchange->ceiling - answer->length) {
        (void)hutch_fail(&exchange->failure, HUTCH_E_INVALID, 0,
                         "the answer is longer than the %zu bytes it may have", exchange->ceiling);
        return 0;
    }
    hutch_buf_append(answer, data, length);
    return answer->failed ? 0 : length;
}

/* What comes with a refusal is for a message: its beginning will do, and not for ever. */
static size_t keep_beginning(struct http_exchange *exchange, const char *data, size_t length)
{
    size_t room = HTTP_KEPT_OF_REFUSALS - exchange->answer.length;
    hutch_buf_append(&exchange->answer, data, length < room ? length : room);
    exchange->ignored_bytes += length;
    return exchange->ignored_bytes > HTTP_IGNORED_CEILING ? 0 : length;
}

size_t http_on_body(char *data, size_t size, size_t count, void *context)
{
    struct http_exchange *exchange = context;
    size_t length = size * count;
    if (!is_good(http_status(exchange)))
        return keep_beginning(exchange, data, length);
    if (!exchange->sink)
        return keep(exchange, data, length);
    return exchange->sink(exchange, data, length, &exchange->failure) < 0 ? 0 : length;
}

size_t http_on_read(char *buffer, size_t size, size_t count, void *context)
{
    struct http_exchange *exchange = context;
    uint64_t left = exchange->body_size - exchange->sent;
    size_t wanted = size * count < left ? size * count : (size_t)left;
    ssize_t got = pread(exchange->body_fd, buffer, wanted, (off_t)exchange->sent);
    if (got < 0 || (got == 0 && wanted > 0)) {
        (void)hutch_fail_errno(&exchange->failure, got < 0 ? errno : ENODATA,
                               "read what is to be sent");
        return CURL_READFUNC_ABORT;
    }
    exchange->sent += (uint64_t)got;
    if (exchange->on_sent)
        exchange->on_sent(exchange, exchange->sent);
    return (size_t)got;
}

/* libcurl asks for the start again when a connection it has kept turns out to be dead. */
int http_on_seek(void *context, curl_off_t offset, int origin)
{
    struct http_exchange *exchange = context;
    if (origin != SEEK_SET || offset < 0)
        return CURL_SEEKFUNC_FAIL;
    exchange->sent = (uint64_t)offset;
    return CURL_SEEKFUNC_OK;
}
