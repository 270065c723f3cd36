/* SPDX-License-Identifier: Apache-2.0 */
/* One request: what the handler asks about it, and how long it lives. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "http/connection.h"
#include "util/own.h"

/* Goes into logs and headers as it is. */
static bool id_is_valid(const char *id)
{
    size_t length = 0;
    while (isalnum((unsigned char)id[length]) || (id[length] && strchr("-_.:", id[length])))
        length++;
    return length >= 1 && length <= 64 && !id[length];
}

/* Different each time, and not to be guessed from the last (splitmix64 of a counter). */
static void make_id(struct http_server *server, char *ret_id)
{
    static const char hex[] = "0123456789abcdef";
    uint64_t x = server->id_seed + ++server->id_count * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    x ^= x >> 31;
    for (int i = 0; i < 16; i++)
        ret_id[i] = hex[x >> (60 - 4 * i) & 15];
    ret_id[16] = '\0';
}

static void init(struct http_exchange *exchange, struct connection *connection)
{
    const char *id = head_field(&exchange->head, "x-request-id");
    exchange->connection = connection;
    exchange->references = 1;
    exchange->gone_fd = exchange->body.pipe_fd = HUTCH_NO_FD;
    exchange->peer = connection->peer;
    exchange->peer->references++;
    exchange->start_us = http_now_us();
    exchange->body.left = exchange->head.length;
    exchange->body.sink = exchange->head.length ? BODY_NOT_ASKED_FOR : BODY_DONE;
    atomic_store(&exchange->body_is_whole, !exchange->head.length);
    if (id && id_is_valid(id))
        memcpy(exchange->request_id, id, strlen(id) + 1);
    else
        make_id(connection->server, exchange->request_id);
}

/* In one piece: the struct, its fields, its head, and its path behind that. */
struct http_exchange *exchange_new(struct connection *connection, const char *data, size_t length,
                                   struct refusal *refusal)
{
    const struct head_scan *scan = &connection->scan;
    size_t fields_size = scan->lines * sizeof(struct http_header);
    struct http_exchange *exchange =
        malloc(sizeof(*exchange) + fields_size + length + 1 + scan->first_line + 1);
    if (!exchange) {
        (void)refuse(refusal, 503, "The server is out of memory.");
        return NULL;
    }
    memset(exchange, 0, sizeof(*exchange));
    char *text = (char *)exchange->fields + fields_size;
    memcpy(text, data, length);
    text[length] = '\0';
    exchange->head.fields = exchange->fields;
    exchange->head.path = text + length + 1;
    if (head_parse(&exchange->head, text, length, connection->ssl != NULL,
                   &connection->server->options.limits, refusal) < 0) {
        free(exchange);
        return NULL;
    }
    init(exchange, connection);
    return exchange;
}

/* ---- life ---- */

void http_hold(struct http_exchange *exchange)
{
    exchange->references++;
}

void http_release(struct http_exchange *exchange)
{
    if (--exchange->references)
        return;
    hutch_fd_close(&exchange->gone_fd);
    peer_unref(exchange->peer);
    free(exchange->note);
    free(exchange);
}

bool http_is_gone(const struct http_exchange *exchange)
{
    return atomic_load(&exchange->is_gone);
}

int http_gone_fd(struct http_exchange *exchange)
{
    if (exchange->gone_fd < 0) {
        exchange->gone_fd = eventfd(http_is_gone(exchange), EFD_CLOEXEC | EFD_NONBLOCK);
    }
    return exchange->gone_fd;
}

void exchange_over(struct http_exchange *exchange, bool is_gone)
{
    exchange->connection = NULL;
    if (is_gone) {
        atomic_store(&exchange->is_gone, true);
        if (exchange->gone_fd >= 0)
            (void)eventfd_write(exchange->gone_fd, 1);
    }
    stream_done(exchange);
    body_lose(exchange);
    http_release(exchange);
}

/* ---- what was asked ---- */

const char *http_method(const struct http_exchange *exchange)
{
    return exchange->head.method;
}

const char *http_path(const struct http_exchange *exchange)
{
    return exchange->head.path;
}

const char *http_query(const struct http_exchange *exchange)
{
    return exchange->head.query;
}

const char *http_field(const struct http_exchange *exchange, const char *name)
{
    return head_field(&exchange->head, name);
}

const struct http_peer *http_peer(const struct http_exchange *exchange)
{
    return &exchange->peer->about;
}

const char *http_request_id(const struct http_exchange *exchange)
{
    return exchange->request_id;
}

bool http_has_body(const struct http_exchange *exchange)
{
    return exchange->head.length > 0;
}

uint64_t http_body_length(const struct http_exchange *exchange)
{
    return exchange->head.length;
}

void http_set_note(struct http_exchange *exchange, const char *note)
{
    free(exchange->note);
    exchange->note = strdup(note); /* without memory the log says less */
}

void *http_userdata(const struct http_exchange *exchange)
{
    return exchange->userdata;
}

void http_set_userdata(struct http_exchange *exchange, void *userdata)
{
    exchange->userdata = userdata;
}
