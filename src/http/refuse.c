/* SPDX-License-Identifier: Apache-2.0 */
/* What is answered here, before any handler: a problem document (RFC 9457), and the end of the
 * connection, of which nobody can say any more where its next request begins. */
#include <stdio.h>

#include "http/connection.h"

#define PROBLEM                                                                                   \
    "{\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%d,\"code\":\"%s\",\"detail\":\"%s\"}" \
    "\n"

static const char *code_of(int status)
{
    return status == 503                    ? "unavailable"
           : status == 501 || status == 505 ? "unsupported"
                                            : "invalid";
}

/* Our own sentences: nothing in them is to be escaped. */
static size_t make_problem(char *text, size_t size, int status, const char *why)
{
    int length =
        snprintf(text, size, PROBLEM, http_status_text(status), status, code_of(status), why);
    return length < 0 ? 0 : (size_t)length < size ? (size_t)length : size - 1;
}

void exchange_refuse(struct http_exchange *exchange, int status, const char *why)
{
    static const struct http_header headers[] = {{"Content-Type", "application/problem+json"}, {0}};
    struct connection *connection = exchange->connection;
    char body[512];
    size_t length = make_problem(body, sizeof(body), status, why);
    connection_enter(connection);
    http_hold(exchange);
    connection->closes = true;
    if (!exchange->note)
        http_set_note(exchange, why);
    if (exchange->answer == ANSWER_NONE)
        http_answer(exchange, status, headers, body, length);
    else
        connection_close(connection);
    http_release(exchange);
    connection_leave(connection);
}

static void log_refusal(const struct connection *connection, const struct refusal *refusal,
                        size_t length)
{
    const struct http_server *server = connection->server;
    const struct http_log_entry entry = {
        .method = "-",
        .target = "-",
        .status = refusal->status,
        .bytes_out = length,
        .peer = connection->peer->about.name,
        .note = refusal->why,
        .request_id = "",
    };
    if (server->options.on_log)
        server->options.on_log(server->options.userdata, &entry);
}

void connection_refuse(struct connection *connection, const struct refusal *refusal)
{
    char head[512], body[512];
    size_t length = make_problem(body, sizeof(body), refusal->status, refusal->why);
    int head_length = snprintf(
        head, sizeof(head),
        "HTTP/1.1 %d %s\r\nContent-Type: application/problem+json\r\nContent-Length: %zu\r\n"
        "X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
        refusal->status, http_status_text(refusal->status), length);
    const struct iovec parts[2] = {{head, (size_t)head_length}, {body, length}};
    connection->server->counts.bad_requests++;
    connection->closes = true;
    log_refusal(connection, refusal, length);
    connection_send(connection, parts, 2);
    connection_linger(connection, true);
}
