/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of names, asked for outside: the host's /etc/hosts first, then its name servers.
 * Nothing is looked up but what the order allows, and no answer is used for longer than it says, or
 * a minute. */
#ifndef HUTCH_EGRESS_RESOLVER_H
#define HUTCH_EGRESS_RESOLVER_H

#include "egress/dns.h"
#include "egress/loop.h"

#define RESOLVER_MAX_ADDRESSES ((size_t)2 * DNS_MAX_ADDRESSES)
#define RESOLVER_MAX_LOOKUPS 32 /* at one time; others wait in line */
#define RESOLVER_MAX_SERVERS 3

struct lookup;

/* Who waits is told once, and forgotten. */
struct waiter {
    struct waiter *next;
    bool is_waiting;
    void (*on_resolved)(struct waiter *waiter);
};

/* Belongs to whoever has the name. */
struct resolution {
    const char *name;
    uint64_t expires_us; /* until then the addresses, or that there are none, hold */
    size_t count;
    struct address addresses[RESOLVER_MAX_ADDRESSES];
    struct waiter *waiters;
    struct lookup *lookup; /* while one is under way */
    struct resolution *next_in_line;
    bool is_in_line;
};

struct query {
    struct watch watch;
    struct lookup *lookup;
    enum dns_type type;
    uint16_t id;
    bool is_tcp;
    bool is_done;
    bool has_sent; /* by TCP: the question */
    unsigned tries;
    size_t received; /* by TCP, with the two bytes of the length */
    uint8_t *answer; /* of TCP alone */
};

struct lookup {
    struct resolver *resolver;
    struct resolution *resolution; /* NULL: free */
    struct query queries[2];
    struct timer timer;
    uint64_t began_us;
    uint32_t ttl_s;
    size_t count;
    struct address addresses[RESOLVER_MAX_ADDRESSES];
};

struct resolver {
    struct loop *loop;
    size_t server_count;
    struct address servers[RESOLVER_MAX_SERVERS];
    struct resolution *first_in_line;
    struct resolution *last_in_line;
    struct lookup lookups[RESOLVER_MAX_LOOKUPS];
};

void resolver_init(struct resolver *resolver, struct loop *loop);
/* true: the resolution holds now. false: the waiter is told later. */
bool resolver_ask(struct resolver *resolver, struct resolution *resolution, struct waiter *waiter);
void resolver_forget(struct resolution *resolution, struct waiter *waiter);
/* Nobody waits for it any more, and it goes. */
void resolver_drop(struct resolver *resolver, struct resolution *resolution);

/* The host's own files. */
size_t host_file_addresses(const char *name, struct address *ret_addresses, size_t max);
size_t host_file_servers(struct address ret_servers[RESOLVER_MAX_SERVERS]);

#endif
