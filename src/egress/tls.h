/* SPDX-License-Identifier: Apache-2.0 */
/* What a program that can intercept TLS adds to the gateway. A side of a connection that has a
 * session is read and written through it; everything else of the connection stays as it is: what
 * the client says is examined as HTTP in the clear, and nothing is spliced. */
#ifndef HUTCH_EGRESS_TLS_H
#define HUTCH_EGRESS_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/error.h"

struct order;

struct tls_ops {
    /* Once for a gateway, when an order first needs it: the sandbox's own authority. Its
     * certificate (PEM) is said to the keeper with AUTHORITY. */
    int (*open)(const struct order *order, void **ret_authority, const char **ret_certificate,
                struct hutch_error *err);
    /* Is what goes to this name and port to be read? Asked when the ClientHello was found good. */
    bool (*wants)(const struct order *order, const char *name, uint16_t port);
    /* Sessions: as the server to the client inside, as the client to the server outside. NULL: no
     * memory. */
    void *(*accept)(void *authority, const char *name);
    void *(*connect)(void *authority, const char *name);
    /* Bytes that were read from the socket before the session was there. false: no memory. */
    bool (*feed)(void *session, const void *data, size_t length);
    /* As recv() and send(), and the handshake as a part of the first of them. EAGAIN: whatever
     * happens at the socket next, try again. EPROTO: the other's certificate is not good, or what
     * it says is no TLS. */
    ssize_t (*read)(void *session, int fd, void *data, size_t length);
    ssize_t (*write)(void *session, int fd, const void *data, size_t length);
    /* Nothing more is written. false: what was written has not all gone yet, call it again. */
    bool (*end)(void *session, int fd);
    /* It has failed, and that is why: the other's certificate is not for the name, or of an
     * authority that nobody trusts. */
    bool (*has_bad_certificate)(void *session);
    void (*release)(void *session);
};

#endif
