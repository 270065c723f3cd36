/* SPDX-License-Identifier: Apache-2.0 */
/* What a keeper and its gateway say to each other. The gateway is a process of one sandbox alone:
 * it has the control socket (SOCK_SEQPACKET) as descriptor 3, the table (a memory file, shared) as
 * 4, and the way to PID 1 (init/plant.h) as 5, and nothing else of the keeper's.
 *
 * keeper -> gateway: ORDER, again whenever something of it changes: a message alone, with a sealed
 * memory file that has the blob (struct egress_order) as its only descriptor; the first is in the
 * socket before the gateway starts. An order replaces the one before whole, and connections that it
 * no longer allows end. gateway -> keeper: AUTHORITY, only with intercepted TLS and before anything
 * is planted: its text is the certificate of the sandbox's own authority. READY each time an order
 * is carried out. FAILED, with a sentence as its text: the order is not carried out, nothing is
 * allowed until the next. End of file on the control socket ends the gateway: what it has from the
 * sandbox goes out, for a tenth of a second at most, and then it exits. It starts with the ids,
 * groups and capabilities it is to have, with no_new_privs and a parent-death signal, and with its
 * control socket as 0, 1 and 2 too.
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

#define EGRESS_SEED_BYTES 32
#define EGRESS_SECRETS 64
#define EGRESS_HOSTS 512   /* names and ports that are told apart; the last one is "others" */
#define EGRESS_DENIALS 256 /* the latest; all are counted */

enum egress_message_type { EGRESS_ORDER = 1, EGRESS_READY, EGRESS_FAILED, EGRESS_AUTHORITY };

#define EGRESS_TEXT_BYTES 16384 /* of a message, with its NUL */

/* Before the text, which ends with the message: it has no NUL. */
struct egress_message {
    uint32_t type;
    uint32_t number;  /* ORDER: the keeper's own count; READY and FAILED: which order it is about */
    int32_t os_errno; /* FAILED: 0 when there is none */
    uint32_t reserved;
};

/* The blob of an order: this struct first, then arrays and NUL-terminated texts, named by their
 * offset from the start; offset 0 means "none". Several texts in a row follow each other, each with
 * its NUL. Arrays are aligned as their elements. Both ends are built together, so there is no
 * version; the gateway refuses a blob whose offsets or ends are outside of it. */
struct egress_order {
    uint32_t size;  /* of the whole blob */
    uint32_t rules; /* offset of rule_count texts, each as egress_rule_parse() reads it */
    uint32_t rule_count;
    uint32_t opened; /* offset of struct egress_range[opened_count]: refused otherwise */
    uint32_t opened_count;
    uint32_t proxy;       /* offset of "socks5://host:port" or "http://host:port" */
    uint32_t proxy_login; /* offset of "user:password" */
    uint32_t secrets;     /* offset of struct egress_secret[secret_count] */
    uint32_t secret_count;
    uint32_t
        authority; /* offset of EGRESS_SEED_BYTES: of them the sandbox's own authority is made, the
                      same by every gateway of it; only with a secret that intercepts TLS */
    uint64_t max_connections; /* at one time; 0, here and below: as many as the gateway can have */
    uint64_t max_bytes;       /* in all, both ways, what the table has counted included */
    uint64_t max_rate;        /* bytes per second, both ways together */
};

struct egress_range {
    uint16_t family; /* AF_INET or AF_INET6 */
    uint16_t prefix_bits;
    uint8_t address[16]; /* the first 4 for AF_INET */
};

/* A header that requests to some hosts get; one that the sandbox sent itself is taken out. The
 * value is ready: what the secret's template says is in it. */
struct egress_secret {
    uint32_t name;  /* offset; for messages */
    uint32_t hosts; /* offset of host_count texts, each as egress_rule_parse() reads it */
    uint32_t host_count;
    uint32_t header; /* offset of the header's name */
    uint32_t value;  /* offset of its value; no CR, LF or NUL in it */
    uint32_t value_length;
    uint32_t intercepts_tls; /* 1: HTTPS alone, by an own authority; 0: plain HTTP alone */
};

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
    uint32_t host_count;
    uint32_t reserved;
    uint64_t denial_count; /* rows ever begun */
    uint64_t denied;       /* attempts, each time counted */
    uint64_t connections;
    uint64_t connections_open;
    uint64_t bytes_out;
    uint64_t bytes_in;
    uint64_t gateways; /* how many have served, the present one included */
    struct egress_host hosts[EGRESS_HOSTS];
    struct egress_denial denials[EGRESS_DENIALS];
};

#endif
