/* SPDX-License-Identifier: Apache-2.0 */
/* From a name to a connected socket: its addresses, those of them that may be dialled, two of them
 * at a time, or by way of a proxy, which gets the name. */
#ifndef HUTCH_EGRESS_DIAL_H
#define HUTCH_EGRESS_DIAL_H

#include "egress/resolver.h"

#define PROXY_BYTES 2048 /* of what is said to a proxy, or by it */
#define DIAL_ATTEMPTS 2

struct gateway;

struct dial {
    struct gateway *gateway;
    const char *name;
    struct resolution *resolution; /* the name's */
    uint16_t port;
    /* fd >= 0: connected, and the dial's no more; why is then 0. */
    void (*on_end)(struct dial *dial, int fd, enum egress_why why);
    bool is_over;
    struct resolution *asked; /* while it waits for that */
    struct waiter waiter;
    struct timer timer;
    uint64_t began_us;
    struct watch attempts[DIAL_ATTEMPTS];
    size_t count;
    size_t next;
    struct address addresses[RESOLVER_MAX_ADDRESSES];
    unsigned proxy_step;
    size_t proxy_length; /* of what is to be sent */
    char *proxy_bytes;   /* owned */
};

/* on_end may be called before it returns. */
void dial_begin(struct dial *dial);
void dial_end(struct dial *dial);

/* proxy.c: the socket to the proxy is connected. */
void proxy_begin(struct dial *dial, int fd);
/* What proxy.c and dial.c say to each other. */
void dial_succeed(struct dial *dial, int fd);
void dial_fail(struct dial *dial, enum egress_why why);

#endif
