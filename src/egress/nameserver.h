/* SPDX-License-Identifier: Apache-2.0 */
/* The sandbox's name server. It knows what the order allows and asks nobody. */
#ifndef HUTCH_EGRESS_NAMESERVER_H
#define HUTCH_EGRESS_NAMESERVER_H

#include <sys/socket.h>

#include "egress/dns.h"
#include "egress/loop.h"

#define NAMESERVER_STREAMS 16
#define NAMESERVER_PENDING 64 /* questions that wait until a name has its sockets */

struct gateway;

/* A client that came by TCP. */
struct dns_stream {
    struct watch watch;
    struct gateway *gateway;
    struct timer deadline;
    uint32_t serial; /* whoever waits for an answer names the client with it */
    size_t received;
    uint8_t message[2 + DNS_MAX_QUESTION];
};

/* Where a reply goes. */
struct dns_client {
    int udp; /* the socket it came by, or negative */
    struct dns_stream *stream;
    uint32_t serial;
    socklen_t address_bytes;
    struct sockaddr_storage address;
};

struct dns_pending {
    bool is_used;
    struct dns_client client;
    size_t length;
    uint8_t message[DNS_MAX_QUESTION];
};

struct nameserver {
    struct watch udp[2];
    struct watch tcp[2];
    uint32_t last_serial;
    size_t pending_count;
    struct dns_stream streams[NAMESERVER_STREAMS];
    struct dns_pending pending[NAMESERVER_PENDING];
};

void nameserver_init(struct gateway *gateway);
/* Takes a socket of its own. */
void nameserver_take(struct gateway *gateway, bool is_udp, uint16_t family, int fd);
/* Answers what waited for sockets. */
void nameserver_resume(struct gateway *gateway);
/* Answers what has come. */
void nameserver_drain(struct gateway *gateway);

/* nameserver_answer.c: what to say. Returns the reply's length; 0: nothing, or not yet. */
size_t nameserver_answer(struct gateway *gateway, const struct dns_client *client,
                         const uint8_t *message, size_t length, uint8_t ret_reply[DNS_MAX_REPLY]);

#endif
