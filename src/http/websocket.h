/* SPDX-License-Identifier: Apache-2.0 */
/* What the files about WebSocket share. */
#ifndef HUTCH_HTTP_WEBSOCKET_H
#define HUTCH_HTTP_WEBSOCKET_H

#include <wslay/wslay.h>

#include "http/connection.h"

#define MUCH_WAITS ((size_t)64 * 1024)

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
    bool is_told;     /* that it is over */
    bool has_goodbye; /* to be said behind what waits */
    uint16_t goodbye_code;
    char goodbye[124];
};

/* handshake.c. NULL: what was asked for is a WebSocket. */
const char *handshake_what_is_wrong(const struct head *head);
/* False: out of memory. */
bool handshake_send(struct http_exchange *exchange, const char *protocol);

/* websocket.c */
struct websocket *websocket_new(struct connection *connection,
                                const struct http_websocket_fns *fns);
void websocket_send_queued(struct connection *connection);
void websocket_deliver_held(struct connection *connection);

#endif
