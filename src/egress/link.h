/* SPDX-License-Identifier: Apache-2.0 */
/* What a keeper and its gateway say to each other. The gateway is a process of one sandbox alone:
 * it has the control socket (SOCK_SEQPACKET) as descriptor 3, the table (a memory file, shared) as
 * 4, and the way to PID 1 (init/plant.h) as 5, and nothing else of the keeper's.
 *
 * keeper -> gateway: ORDER (egress_order, then its rules as texts, then secrets), again whenever
 * they change. gateway -> keeper: READY once the first order is carried out: from then on the
 * command may start; with intercepted TLS its text is the certificate of the sandbox's own
 * authority. End of file on the control socket ends the gateway.
 *
 * The table has everything that is to be told of the sandbox's network. It outlives a gateway, so
 * nothing is lost with one; the keeper reads it whenever it likes and believes nothing of it
 * without a check. */
#ifndef HUTCH_EGRESS_LINK_H
#define HUTCH_EGRESS_LINK_H

#include <stdint.h>

#include "core/egress.h"

#define EGRESS_CONTROL_FD 3
#define EGRESS_TABLE_FD 4
#define EGRESS_PLANT_FD 5

#define EGRESS_HOSTS 512   /* names and ports that are told apart; the last one is "others" */
#define EGRESS_DENIALS 256 /* the latest; all are counted */

enum egress_message_type { EGRESS_ORDER = 1, EGRESS_READY, EGRESS_FAILED };

/* Why nothing went out. */
enum egress_why {
    EGRESS_WHY_NAME = 1,    /* no rule has the name */
    EGRESS_WHY_PORT,        /* a rule has the name, none the port */
    EGRESS_WHY_ADDRESS,     /* an address was dialled, not a name */
    EGRESS_WHY_RESOLVE,     /* the name has no address */
    EGRESS_WHY_RANGE,       /* all its addresses are private, loopback, link-local, ... */
    EGRESS_WHY_CONNECT,     /* the server did not accept */
    EGRESS_WHY_SNI,         /* the TLS handshake names another host, none, or hides it */
    EGRESS_WHY_HOST,        /* the HTTP request names another host, or is ambiguous */
    EGRESS_WHY_PROTOCOL,    /* neither TLS nor HTTP on a port for these */
    EGRESS_WHY_CONNECTIONS, /* limits */
    EGRESS_WHY_BYTES,
    EGRESS_WHY_CERTIFICATE, /* the server's, where TLS is intercepted */
    EGRESS_WHY_UDP,
    EGRESS_WHYS,
};

struct egress_host {
    char name[EGRESS_NAME_BYTES];
    uint16_t port;
    uint64_t connections;
    uint64_t bytes_out; /* of the sandbox */
    uint64_t bytes_in;
};

struct egress_denial {
    uint64_t time_us;             /* CLOCK_REALTIME */
    char name[EGRESS_NAME_BYTES]; /* as canonical, or an address */
    uint16_t port;                /* 0: a question for the name alone */
    uint16_t why;
    uint32_t times; /* the same again within a second is one row */
};

/* A gateway writes rows first and counts afterwards (release); a reader takes the counts first
 * (acquire). Denial number n is in row n % EGRESS_DENIALS. */
struct egress_table {
    uint32_t version;
    uint32_t host_count;
    uint64_t denial_count;
    uint64_t connections;
    uint64_t connections_open;
    uint64_t bytes_out;
    uint64_t bytes_in;
    uint64_t gateways; /* how many have served, the present one included */
    struct egress_host hosts[EGRESS_HOSTS];
    struct egress_denial denials[EGRESS_DENIALS];
};

#endif
