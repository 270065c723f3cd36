/* SPDX-License-Identifier: Apache-2.0 */
/* An answer whose body is here. */
#include <string.h>

#include "http/connection.h"

/* A body that nobody read, and that is shorter than this, is gone over. */
#define MOST_SKIPPED_BYTES 65536

static bool body_can_be_skipped(const struct http_exchange *exchange)
{
    const struct body *body = &exchange->body;
    return body->sink == BODY_NOT_ASKED_FOR && !exchange->head.wants_continue &&
           body->left <= MOST_SKIPPED_BYTES;
}

void answer_begin(struct http_exchange *exchange, int status)
{
    const struct connection *connection = exchange->connection;
    exchange->status = status;
    exchange->keep_alive = exchange->head.keep_alive && !connection->closes &&
                           !connection->server->is_draining && !connection->is_ended;
    if (body_can_be_skipped(exchange) && exchange->keep_alive)
        exchange->body.sink = BODY_TO_NOTHING;
    else if (exchange->body.sink == BODY_NOT_ASKED_FOR || exchange->body.sink == BODY_LOST)
        exchange->keep_alive = false; /* where the next request begins is not known */
}

void http_answer(struct http_exchange *exchange, int status, const struct http_header *headers,
                 const void *body, size_t length)
{
    struct connection *connection = exchange->connection;
    if (!connection || exchange->answer != ANSWER_NONE)
        return;
    connection_enter(connection);
    http_hold(exchange);
    if (body_is_wanted(exchange))
        body_stop(exchange);
    answer_begin(exchange, status);
    bool is_sent = strcmp(exchange->head.method, "HEAD") != 0 && status != 204 && status != 304;
    if (answer_head_make(exchange, status, headers, length, false)) {
        const struct buffer *head = &connection->server->head;
        const struct iovec parts[2] = {{head->memory, head->length},
                                       {(void *)(uintptr_t)body, is_sent ? length : 0}};
        exchange->bytes_out = is_sent ? length : 0;
        connection_send(connection, parts, is_sent && length ? 2 : 1);
    } else {
        connection_close(connection);
    }
    if (!connection->is_over)
        connection_answered(connection);
    if (exchange->body.sink == BODY_LOST)
        body_lose(exchange); /* who waits for it is told when the answer is there */
    http_release(exchange);
    connection_go_on(connection);
    connection_leave(connection);
}
