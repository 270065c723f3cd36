/* SPDX-License-Identifier: Apache-2.0 */
/* What a handler calls of a WebSocket. */
#include <stdio.h>
#include <string.h>

#include "http/websocket.h"

int http_websocket(struct http_exchange *exchange, const char *protocol,
                   const struct http_websocket_fns *fns)
{
    struct connection *connection = exchange->connection;
    if (!connection || exchange->answer != ANSWER_NONE)
        return -1;
    const char *wrong = handshake_what_is_wrong(&exchange->head);
    if (wrong) {
        exchange_refuse(exchange, 400, wrong);
        return -1;
    }
    struct websocket *websocket = websocket_new(connection, fns);
    if (!websocket) {
        exchange_refuse(exchange, 503, "The server is out of memory.");
        return -1;
    }
    connection_enter(connection);
    connection->websocket = websocket;
    exchange->answer = ANSWER_WEBSOCKET;
    if (!handshake_send(exchange, protocol))
        connection_close(connection);
    connection_go_on(connection);
    connection_leave(connection);
    return 0;
}

/* NULL: nothing goes there any more. */
static struct connection *open_connection(const struct http_exchange *exchange)
{
    struct connection *connection = exchange->connection;
    if (!connection || !connection->websocket || connection->websocket->is_closing ||
        connection->websocket_is_over || connection->is_over)
        return NULL;
    return connection;
}

void http_websocket_send(struct http_exchange *exchange, bool is_text, const char *data,
                         size_t length)
{
    struct connection *connection = open_connection(exchange);
    const struct wslay_event_msg message = {.opcode =
                                                is_text ? WSLAY_TEXT_FRAME : WSLAY_BINARY_FRAME,
                                            .msg = (const uint8_t *)data,
                                            .msg_length = length};
    if (!connection)
        return;
    connection_enter(connection);
    if (wslay_event_queue_msg(connection->websocket->context, &message) == WSLAY_ERR_NOMEM)
        connection_close(connection);
    else
        websocket_send_queued(connection);
    if (!connection->is_over && http_websocket_pending(exchange) > MUCH_WAITS)
        connection->websocket->wants_room = true;
    connection_leave(connection);
}

size_t http_websocket_pending(const struct http_exchange *exchange)
{
    const struct connection *connection = exchange->connection;
    if (!connection || !connection->websocket)
        return 0;
    return connection->out.length +
           wslay_event_get_queued_msg_length(connection->websocket->context);
}

void http_websocket_hold(struct http_exchange *exchange, bool hold)
{
    struct connection *connection = open_connection(exchange);
    if (!connection)
        return;
    connection_enter(connection);
    connection->websocket->is_held = hold;
    if (!hold && !connection->is_using) {
        websocket_deliver_held(connection);
        connection_go_on(connection);
    }
    connection_leave(connection);
}

void http_websocket_close(struct http_exchange *exchange, int code, const char *why)
{
    struct connection *connection = open_connection(exchange);
    if (!connection)
        return;
    struct websocket *websocket = connection->websocket;
    connection_enter(connection);
    websocket->is_closing = websocket->has_goodbye = true;
    websocket->goodbye_code = (uint16_t)code;
    (void)snprintf(websocket->goodbye, sizeof(websocket->goodbye), "%s", why ? why : "");
    websocket_send_queued(connection);
    connection_go_on(connection);
    connection_leave(connection);
}
