/* SPDX-License-Identifier: Apache-2.0 */
/* WebSocket (RFC 6455): the handshake, and frames by wslay, which refuses those that are not masked
 * or not in order. */
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>
#include <wslay/wslay.h>

#include "http/connection.h"
#include "util/own.h"

#define MUCH_WAITS ((size_t)64 * 1024)
/* Pongs wait as messages do; a client that only pings and never reads stops being read here. */
#define MOST_QUEUED 1024

struct message {
    struct message *next;
    size_t length;
    bool is_text;
    char data[];
};

struct websocket {
    wslay_event_context_ptr context;
    struct http_websocket_fns fns;
    const char *came; /* what is being fed */
    size_t came_length;
    struct message *held; /* came in the same piece as the message at which it was held up */
    struct message **last_held;
    bool is_held;
    bool is_asked; /* for a pong */
    bool is_closing;
    bool wants_room;
    bool is_told; /* that it is over */
};

/* ---- the handshake ---- */

/* 16 bytes in base64. */
static bool key_is_valid(const char *key)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    return key && strlen(key) == 24 && strspn(key, letters) == 22 && !strcmp(key + 22, "==");
}

static void make_accept(const char *key, char *ret_accept)
{
    static const char magic[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    unsigned char digest[SHA_DIGEST_LENGTH];
    char text[24 + sizeof(magic)];
    memcpy(text, key, 24);
    memcpy(text + 24, magic, sizeof(magic));
    (void)SHA1((const unsigned char *)text, sizeof(text) - 1, digest);
    (void)EVP_EncodeBlock((unsigned char *)ret_accept, digest, sizeof(digest));
}

static bool is_offered(const struct head *head, const char *protocol)
{
    for (size_t i = 0; i < head->field_count; i++)
        if (!strcmp(head->fields[i].name, "sec-websocket-protocol") &&
            list_has(head->fields[i].value, protocol))
            return true;
    return false;
}

/* NULL: what was asked for is one. */
static const char *what_is_wrong(const struct head *head)
{
    const char *version = head_field(head, "sec-websocket-version");
    if (!head->wants_websocket)
        return "This is a WebSocket: ask for it with 'Upgrade: websocket'.";
    if (!version || strcmp(version, "13") != 0)
        return "The version of WebSocket spoken here is 13.";
    if (!key_is_valid(head_field(head, "sec-websocket-key")))
        return "Sec-WebSocket-Key is not 16 bytes in base64.";
    return NULL;
}

static bool send_handshake(struct http_exchange *exchange, const char *protocol)
{
    char accept[32];
    bool is_chosen = protocol && is_offered(&exchange->head, protocol);
    const struct http_header headers[] = {
        {"Upgrade", "websocket"},
        {"Sec-WebSocket-Accept", accept},
        {is_chosen ? "Sec-WebSocket-Protocol" : NULL, protocol},
        {0},
    };
    make_accept(head_field(&exchange->head, "sec-websocket-key"), accept);
    answer_begin(exchange, 101);
    exchange->keep_alive = false;
    if (!answer_head_make(exchange, 101, headers, HTTP_LENGTH_UNKNOWN, false))
        return false;
    const struct buffer *head = &exchange->connection->server->head;
    const struct iovec part = {head->memory, head->length};
    connection_send(exchange->connection, &part, 1);
    return true;
}

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

static void send_queued(struct connection *connection)
{
    struct websocket *websocket = connection->websocket;
    if (connection->is_over || connection->websocket_is_over)
        return;
    if (wslay_event_send(websocket->context) != 0) {
        connection_close(connection);
        return;
    }
    end_when_over(connection);
}

void websocket_flush(struct connection *connection)
{
    struct websocket *websocket = connection->websocket;
    send_queued(connection);
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

static void deliver_held(struct connection *connection)
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
    deliver_held(connection);
    if (r != 0)
        end_wrongly(connection, is_between_frames);
    else
        send_queued(connection);
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
    send_queued(connection);
}

/* ---- what the handler calls ---- */

static struct websocket *websocket_new(struct connection *connection,
                                       const struct http_websocket_fns *fns)
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

int http_websocket(struct http_exchange *exchange, const char *protocol,
                   const struct http_websocket_fns *fns)
{
    struct connection *connection = exchange->connection;
    if (!connection || exchange->answer != ANSWER_NONE)
        return -1;
    const char *wrong = what_is_wrong(&exchange->head);
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
    if (!send_handshake(exchange, protocol))
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
        send_queued(connection);
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
        deliver_held(connection);
        connection_go_on(connection);
    }
    connection_leave(connection);
}

void http_websocket_close(struct http_exchange *exchange, int code, const char *why)
{
    struct connection *connection = open_connection(exchange);
    size_t length = why ? strnlen(why, 123) : 0;
    if (!connection)
        return;
    connection_enter(connection);
    connection->websocket->is_closing = true;
    if (wslay_event_queue_close(connection->websocket->context, (uint16_t)code,
                                (const uint8_t *)why, length) == WSLAY_ERR_NOMEM)
        connection_close(connection);
    else
        send_queued(connection);
    connection_go_on(connection);
    connection_leave(connection);
}
