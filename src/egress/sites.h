/* SPDX-License-Identifier: Apache-2.0 */
/* Names that the sandbox can reach, each with an address of its own inside, which is made from the
 * name: a gateway that takes over gives the same ones. */
#ifndef HUTCH_EGRESS_SITES_H
#define HUTCH_EGRESS_SITES_H

#include "egress/order.h"
#include "egress/resolver.h"

#define SITES_MAX 1024
#define SITE_MAX_DOORS (2 * EGRESS_MAX_PORTS_OF_NAME) /* every port, by both families */
#define SITES_MAX_DOORS 4096

struct gateway;
struct site;

/* A listener inside. */
struct door {
    struct watch watch;
    struct site *site;
    struct door *next;
    uint16_t family;
    uint16_t port;
    uint64_t waited_us; /* when somebody began to wait, a round, for who has ended to make room */
    struct timer rest;  /* while it accepts nothing, for want of descriptors */
    struct deferred release;
};

struct site {
    struct gateway *gateway;
    bool is_used;
    bool is_wanted;  /* asked for, and its sockets are not there yet */
    bool is_planted; /* all that could be */
    bool has_six;
    char name[EGRESS_NAME_BYTES];
    uint32_t hash;
    uint32_t number; /* its address: this many from the start of the network */
    uint64_t asked_us;
    size_t connections;
    struct door *doors;
    struct resolution resolution;
};

struct sites {
    size_t door_count;
    size_t count; /* of the rows that were ever used */
    struct site rows[SITES_MAX];
};

struct site *sites_find(struct sites *sites, const char *name);
/* The one with this address. */
struct site *sites_find_address(struct sites *sites, const struct address *address);
/* NULL: there is no room. What no rule allows any more, or what nobody has asked for in a long
 * time, makes room. */
struct site *sites_add(struct gateway *gateway, const char *name);
void site_address(const struct site *site, uint16_t family, struct address *ret_address);

/* Every port that the rules have for this name. */
size_t site_ports(const struct order *order, const char *name, uint16_t *ret_ports, size_t max);
bool site_has_door(const struct site *site, uint16_t family, uint16_t port);
/* Takes the listener. */
int site_open_door(struct site *site, uint16_t family, uint16_t port, int fd);
/* Those that the order does not allow. */
void site_close_doors(struct site *site, const struct order *order);

#endif
