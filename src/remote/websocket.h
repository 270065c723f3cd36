/* SPDX-License-Identifier: Apache-2.0 */
/* A WebSocket (RFC 6455) to the daemon: libcurl makes the connection, by socket, TCP or TLS, and
 * wslay the frames. Nothing here waits but the opening. */
#ifndef HUTCH_REMOTE_WEBSOCKET_H
#define HUTCH_REMOTE_WEBSOCKET_H

#include <stdbool.h>
#include <stddef.h>

#include "remote/client.h"

struct remote_websocket;

/* Anything but 0 ends the connection with *err. */
typedef int (*remote_message_fn)(void *userdata, bool is_text, const char *data, size_t length,
                                 struct hutch_error *err);

/* Takes the path. The daemon may say no, with a problem document. */
int remote_websocket_open(char *path, remote_message_fn on_message, void *userdata,
                          struct remote_websocket **ret_socket, struct hutch_error *err);
void remote_websocket_free(struct remote_websocket *socket);

int remote_websocket_fd(const struct remote_websocket *socket);
/* Has it something that could not be sent yet? Then it wants to know when there is room. */
bool remote_websocket_wants_write(const struct remote_websocket *socket);
/* May more be handed over, without it becoming too much? */
bool remote_websocket_has_room(const struct remote_websocket *socket);
int remote_websocket_send(struct remote_websocket *socket, bool is_text, const void *data,
                          size_t length, struct hutch_error *err);
/* Has it stopped before all was received, so that others have their turn? */
bool remote_websocket_has_more(const struct remote_websocket *socket);
/* Receives and sends what can be. Fails with *err of the message, or with code 0: it was cut. */
int remote_websocket_turn(struct remote_websocket *socket, struct hutch_error *err);

#endif
