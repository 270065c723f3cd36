/* SPDX-License-Identifier: Apache-2.0 */
/* The frames of a WebSocket (RFC 6455), by wslay, which refuses those that are not masked or not in
 * order. */
#include <stdlib.h>
#include <string.h>

#include "http/websocket.h"
#include "util/own.h"

/* Pongs wait as messages do; a client that only pings and never reads stops being read here. */
#define MOST_QUEUED 1024

/* ---- wslay's side ---- */

static ssize_t on_recv(wslay_event_context_ptr context, uint8_t *data, size_t length, int flags,
                       void *userdata)
{
    struct websocket *websocket = ((struct connection *)userdata)->websocket;
    (void)flags;
    if (length > websocket->came_length)
        length = websocket->came_length;
    if (!length) {
        wslay_event_set_error(context, WSLAY_ERR_WOULDBLOCK);
        return -1;
    }
    memcpy(data, websocket->came, length);
    websocket->came += length;
    websocket->came_length -= length;
    return (ssize_t)length;
}

static ssize_t on_send(wslay_event_context_ptr context, const uint8_t *data, size_t length,
                       int flags, void *userdata)
{
    struct connection *connection = userdata;
    const struct iovec part = {(void *)(uintptr_t)data, length};
    (void)flags;
    if (connection->is_over || connection->out.length >= MUCH_WAITS) {
        wslay_event_set_error(context, WSLAY_ERR_WOULDBLOCK);
        return -1;
    }
    connection_send(connection, &part, 1);
    return (ssize_t)length;
}

static void hold_message(struct websocket *websocket, bool is_text, const void *data, size_t length)
{
    struct message *message = malloc(sizeof(*message) + length);
    if (!message) {
        (void)wslay_event_queue_close(websocket->context, WSLAY_CODE_INTERNAL_SERVER_ERROR, NULL,
                                      0);
        return;
    }
    *message = (struct message){NULL, length, is_text};
    memcpy(message->data, data, length);
    *websocket->last_held = message;
    websocket->last_held = &message->next;
}

static void on_message(wslay_event_context_ptr context,
                       const struct wslay_event_on_msg_recv_arg *message, void *userdata)
{
    struct connection *connection = userdata;
    struct websocket *websocket = connection->websocket;
    bool is_text = message->opcode == WSLAY_TEXT_FRAME;
    (void)context;
    if (wslay_is_ctrl_frame(message->opcode) || connection->is_over || websocket->is_closing)
        return;
    if (websocket->is_held || websocket->held)
        hold_message(websocket, is_text, message->msg, message->msg_length);
    else
        websocket->fns.on_message(connection->exchange, is_text, (const char *)message->msg,
                                  message->msg_length);
}

/* ---- its end ---- */

static void websocket_free(struct websocket *websocket)
{
    while (websocket->held) {
        struct message *message = websocket->held;
        websocket->held = message->next;
        free(message);
    }
    wslay_event_context_free(websocket->context);
    free(websocket);
}

static void tell(struct connection *connection, int code)
{
    struct websocket *websocket = connection->websocket;
    if (websocket->is_told)
        return;
    websocket->is_told = true;
    if (connection->exchange)
        websocket->fns.on_close(connection->exchange, code);
}

/* The connection frees it behind everything that may still be on the stack. */
void websocket_gone(struct connection *connection, int code)
{
    if (connection->websocket)
        tell(connection, code);
}

void websocket_done(struct connection *connection)
{
    if (connection->websocket)
        websocket_free(HUTCH_TAKE_PTR(connection->websocket));
}

/* Both have said goodbye, or one of them cannot any more. */
static void end_when_over(struct connection *connection)
{
    struct websocket *websocket = connection->websocket;
    wslay_event_context_ptr context = websocket->context;
    bool came = wslay_event_get_close_received(context) != 0;
    if (connection->is_over || wslay_event_want_write(context) || wslay_event_want_read(context))
        return;
    int code = came ? wslay_event_get_status_code_received(context)
                    : wslay_event_get_status_code_sent(context);
    tell(connection, code ? code : WSLAY_CODE_NO_STATUS_RCVD);
    if (connection->is_over || connection->exchange->answer != ANSWER_WEBSOCKET)
        return;
    connection->websocket_is_over = true;
    connection_answered(connection);
}

/* ---- what goes, what comes ---- */

/* wslay sends a close before the messages that wait, and after it nothing. */
static int say_goodbye(struct websocket *websocket)
{
    websocket->has_goodbye = false;
    int r =
        wslay_event_queue_close(websocket->context, websocket->goodbye_code,
                                (const uint8_t *)websocket->goodbye, strlen(websocket->goodbye));
    return r == WSLAY_ERR_NOMEM ? r : wslay_event_send(websocket->context);
}

void websocket_send_queued(struct connection *connection)
{
    struct websocket *websocket = connection->websocket;
    if (connection->is_over || connection->websocket_is_over)
        return;
    int r = wslay_event_send(websocket->context);
    if (r == 0 && websocket->has_goodbye && !wslay_event_want_write(websocket->context))
        r = say_goodbye(websocket);
    if (r != 0) {
        connection_close(connection);
        return;
    }
    end_when_over(connection);
}

void websocket_flush(struct connection *connection)
{
    struct websocket *websocket = connection->websocket;
    websocket_send_queued(connection);
    if (connection->is_over || connection->websocket_is_over || !websocket->wants_room ||
        http_websocket_pending(connection->exchange) > MUCH_WAITS)
        return;
    websocket->wants_room = false;
    if (websocket->fns.on_room && !websocket->is_closing)
        websocket->fns.on_room(connection->exchange);
}

bool websocket_is_held(const struct connection *connection)
{
    const struct websocket *websocket = connection->websocket;
    return (websocket->is_held && !websocket->is_closing) ||
           wslay_event_get_queued_msg_count(websocket->context) > MOST_QUEUED;
}

bool websocket_is_closing(const struct connection *connection)
{
    return connection->websocket && connection->websocket->is_closing;
}

void websocket_deliver_held(struct connection *connection)
{
    struct websocket *websocket = connection->websocket;
    while (websocket->held && !websocket->is_held && !connection->is_over) {
        struct message *message = websocket->held;
        websocket->held = message->next;
        if (!websocket->held)
            websocket->last_held = &websocket->held;
        if (!websocket->is_closing)
            websocket->fns.on_message(connection->exchange, message->is_text, message->data,
                                      message->length);
        free(message);
    }
}

/* Some of what is wrong wslay answers itself; for the rest it only stops. Where nothing of a frame
 * may be on its way the client is told why. */
static void end_wrongly(struct connection *connection, bool is_between_frames)
{
    static const char close_1002[] = "\x88\x02\x03\xea";
    const struct iovec part = {(void *)(uintptr_t)close_1002, sizeof(close_1002) - 1};
    if (!is_between_frames || connection->is_over) {
        connection_close(connection);
        return;
    }
    connection_send(connection, &part, 1);
    tell(connection, WSLAY_CODE_PROTOCOL_ERROR);
    if (connection->is_over)
        return;
    connection->websocket_is_over = true;
    connection_answered(connection);
}

size_t websocket_feed(struct connection *connection, const char *data, size_t length)
{
    struct websocket *websocket = connection->websocket;
    bool is_between_frames = !wslay_event_want_write(websocket->context);
    if (connection->websocket_is_over)
        return length;
    if (websocket_is_held(connection))
        return 0;
    websocket->came = data;
    websocket->came_length = length;
    websocket->is_asked = false;
    int r = wslay_event_recv(websocket->context);
    size_t used = length - websocket->came_length;
    websocket->came_length = 0;
    websocket_deliver_held(connection);
    if (r != 0)
        end_wrongly(connection, is_between_frames);
    else
        websocket_send_queued(connection);
    /* One that says no more reads no more either. */
    return wslay_event_get_read_enabled(websocket->context) ? used : length;
}

void websocket_is_idle(struct connection *connection)
{
    struct websocket *websocket = connection->websocket;
    const struct wslay_event_msg ping = {.opcode = WSLAY_PING};
    if (websocket->is_asked || wslay_event_queue_msg(websocket->context, &ping) != 0) {
        connection_close(connection);
        return;
    }
    websocket->is_asked = true;
    websocket_send_queued(connection);
}

/* ---- its beginning ---- */

struct websocket *websocket_new(struct connection *connection, const struct http_websocket_fns *fns)
{
    static const struct wslay_event_callbacks callbacks = {
        .recv_callback = on_recv, .send_callback = on_send, .on_msg_recv_callback = on_message};
    struct websocket *websocket = calloc(1, sizeof(*websocket));
    if (!websocket)
        return NULL;
    websocket->fns = *fns;
    websocket->last_held = &websocket->held;
    if (wslay_event_context_server_init(&websocket->context, &callbacks, connection) != 0) {
        free(websocket);
        return NULL;
    }
    wslay_event_config_set_max_recv_msg_length(websocket->context,
                                               connection->server->options.limits.message_bytes);
    return websocket;
}
