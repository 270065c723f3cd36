/* SPDX-License-Identifier: Apache-2.0 */
/* A connection that the sandbox has made: accepted inside, dialled outside, two flows between. */
#ifndef HUTCH_EGRESS_CONNECTION_H
#define HUTCH_EGRESS_CONNECTION_H

#include "egress/budget.h"
#include "egress/dial.h"
#include "egress/flow.h"
#include "egress/http.h"
#include "egress/sites.h"

#define CONNECTIONS_MAX 1024

/* What the client speaks. */
enum talk { TALK_UNKNOWN, TALK_HTTP, TALK_OPAQUE };

struct connection {
    struct gateway *gateway;
    struct site *site;
    struct egress_host *figures;
    uint16_t port;
    struct side client;
    struct side server;
    struct flow out; /* client to server */
    struct flow in;
    struct dial dial;
    enum talk talk;
    bool is_closed;
    bool is_lingering;  /* it was refused in words, which are still to be read */
    bool awaits_answer; /* to an upgrade */
    bool is_intercepted;
    bool is_proven;     /* something went out */
    uint64_t forgotten; /* bytes of a long first line that are not held any more */
    size_t early;       /* bytes after what is cleared that have gone on nevertheless */
    struct http_filter http;
    struct timer deadline;
    struct turn turn;
    struct budget_waiter waiter;
    struct deferred release;
    struct connection *previous;
    struct connection *next;
};

struct connections {
    size_t count;
    size_t max;
    struct holds holds;
    struct connection *oldest; /* of those that are open */
    struct connection *newest;
};

/* Takes the client's socket. */
void connection_begin(struct gateway *gateway, struct door *door, int fd);
void connection_close(struct connection *connection, bool with_reset);
/* It ends, and why is noted. An HTTP client is told, when it can be, in these words. */
void connection_refuse(struct connection *connection, enum egress_why why, const char *problem);
/* Everything that can go on does. */
void connection_pump(struct connection *connection);
/* A new order: those that it does not allow end. */
void connections_check(struct gateway *gateway, bool proxy_has_changed);
/* The one that has waited longest without a word makes room. false: all of them are at work. */
bool connections_make_room(struct gateway *gateway);

/* examine.c: what was read of either direction, and may it go on? May close the connection. */
void examine_out(struct connection *connection);
void examine_in(struct connection *connection);

#endif
