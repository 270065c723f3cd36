/* SPDX-License-Identifier: Apache-2.0 */
/* A gateway alone: this process is its keeper, a child is PID 1, and two network namespaces that
 * nobody else has are the inside and the outside, with a name server and servers that tell what
 * reached them. */
#ifndef HUTCH_TESTS_GATEWAY_WORLD_H
#define HUTCH_TESTS_GATEWAY_WORLD_H

#include "../unit/unit.h"

#include <sys/types.h>

#include "egress/address.h"
#include "egress/link.h"

#define SEEN_BYTES 65536
#define PUBLIC_ADDRESS "93.184.216.34" /* on the outside's loopback, and in no table of ranges */
#define BULK_BYTES (48U << 20)

enum service {
    PORT_WEB = 80,
    PORT_TLS = 443,
    PORT_SOCKS = 1080,
    PORT_PROXY = 3128,
    PORT_ECHO = 7000,
    PORT_GREET = 7001,  /* speaks first, then as echo */
    PORT_SOURCE = 7002, /* sends BULK_BYTES */
    PORT_SINK = 7003,   /* reads until the end, says how much it was */
    PORT_WEB_TOO = 8080,
    PORT_SILENT = 7004, /* accepts and reads nothing */
    PORT_PART = 7005,   /* speaks first, and that is all */
};

/* What the outside has seen; shared with its processes. */
struct seen {
    bool is_ready;      /* every server listens */
    unsigned questions; /* to the name server */
    char last_question[256];
    unsigned connections; /* to all servers */
    size_t length;        /* bytes to the web servers */
    char bytes[SEEN_BYTES];
};

struct world {
    int inside;
    int outside;
    int control;
    int plant[2];
    int table_fd;
    pid_t gateway;
    pid_t init;
    pid_t servers;
    uint32_t order_number;
    struct egress_table *table;
    struct seen *seen;
};

/* Makes all of it but the gateway; false: this host lets nobody have namespaces. */
bool world_make(struct world *world);
void world_end(struct world *world);
void world_forget_seen(struct world *world);

struct wanted {
    const char *rules[8];
    const char *opened[4]; /* IPv4, "10.0.0.0/8" */
    const char *proxy;
    const char *login;
    uint64_t max_connections;
    uint64_t max_bytes;
    uint64_t max_rate;
};

void gateway_start(struct world *world);
void gateway_stop(struct world *world);
/* Sends it and waits for the answer, whose text is kept. */
enum egress_message_type gateway_order(struct world *world, const struct wanted *wanted,
                                       char ret_text[512]);
/* Both, and it was carried out. */
void gateway_start_with(struct world *world, const struct wanted *wanted);

/* Questions to the name server inside. Returns the code, or -1 when there is no answer; what was
 * answered is in *ret_address, family 0 when nothing was. */
int inside_ask(struct world *world, const char *name, uint16_t type, struct address *ret_address);
/* A socket to the name at that port; negative: -errno. */
int inside_connect(struct world *world, const char *name, uint16_t port);
int inside_connect_address(struct world *world, const struct address *address, uint16_t port);

/* Reads until the end or until so many are there. Returns how many, or -errno. */
ssize_t read_some(int fd, void *data, size_t length);
/* Waits until the outside has seen the text. */
bool saw(struct world *world, const char *text);
/* Denials of this kind, waited for. */
bool was_denied(struct world *world, const char *name, uint16_t port, enum egress_why why);

/* The figure becomes this: what has passed is counted a moment later. */
bool was_counted(const uint64_t *figure, uint64_t value);

/* servers.c: never returns. */
void servers_run(struct seen *seen) __attribute__((noreturn));
/* init.c: never returns. */
void init_run(int inside, int plant) __attribute__((noreturn));

#endif
