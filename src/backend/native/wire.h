/* SPDX-License-Identifier: Apache-2.0 */
/* What a client and a keeper say to each other over a SOCK_SEQPACKET socket: one message is a verb
 * and lines "key=value", each ended by NUL, with descriptors beside them. Keys may repeat; a reader
 * ignores what it does not know, so that a client and a keeper of different versions get along. */
#ifndef HUTCH_NATIVE_WIRE_H
#define HUTCH_NATIVE_WIRE_H

#include <stdint.h>

#include "util/buf.h"
#include "util/error.h"

#define WIRE_MAX_FDS 4
#define WIRE_MAX_BYTES (8u << 20) /* more than a command line and its environment can have */

struct wire_message {
    struct hutch_buf text;
    int fds[WIRE_MAX_FDS];
    size_t fd_count;
};

#define WIRE_MESSAGE_INIT                 \
    {                                     \
        HUTCH_BUF(WIRE_MAX_BYTES), {0}, 0 \
    }

void wire_begin(struct wire_message *message, const char *verb);
void wire_add(struct wire_message *message, const char *key, const char *value);
void wire_add_number(struct wire_message *message, const char *key, uint64_t value);
/* Borrowed until it is sent. */
void wire_add_fd(struct wire_message *message, int fd);
int wire_send(int socket, const struct wire_message *message, struct hutch_error *err);

/* Waits for a message. Its descriptors are the caller's: wire_done() closes what is left of them.
 * HUTCH_E_UNAVAILABLE when the other side is gone. */
int wire_receive(int socket, struct wire_message *ret_message, struct hutch_error *err);
const char *wire_verb(const struct wire_message *message);
/* The value of the next line with this key after the one given (NULL: the first). NULL at the end.
 */
const char *wire_next(const struct wire_message *message, const char *key, const char *after);
static inline const char *wire_get(const struct wire_message *message, const char *key)
{
    return wire_next(message, key, NULL);
}
uint64_t wire_number(const struct wire_message *message, const char *key, uint64_t otherwise);
/* Takes a descriptor out, negative when there is none. */
int wire_take_fd(struct wire_message *message, size_t index);
void wire_done(struct wire_message *message);

/* An error as a message, and back. */
void wire_fail(struct wire_message *message, const struct hutch_error *failure);
/* Sends a request and waits for its answer; an answer that is an error becomes one here. */
int wire_ask(int socket, const struct wire_message *request, struct wire_message *ret_answer,
             struct hutch_error *err);
/* Was the answer an error? Then it is in err, and the code negative. */
int wire_check(const struct wire_message *answer, struct hutch_error *err);

#endif
