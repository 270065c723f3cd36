/* SPDX-License-Identifier: Apache-2.0 */
/* The gateway of one sandbox: the only way out of its network. It is a process outside; the
 * sandbox's programs reach it through sockets that PID 1 has opened inside and handed to it.
 *
 *     name server   (nameserver.c)  answers for allowed names only, each with an address inside
 *     sites, doors  (sites.c)       names, their addresses, and the listeners at them
 *     planter       (planter.c)     gets those sockets from PID 1
 *     connection    (connection.c)  one that was accepted: dialled outside by its door's name, what
 * the client says is examined before it goes on (examine.c), then relayed dial          (dial.c)
 * name -> addresses (resolver.c), none of them refused (address.c) -> a connected socket, also by a
 * proxy (proxy.c) figures       (figures.c)     the table that the keeper reads
 *
 * One thread, one loop (loop.h). Nothing that comes from inside or outside makes it allocate
 * without bound: connections, sites and lookups are counted, and buffers are a connection's own. */
#ifndef HUTCH_EGRESS_GATEWAY_H
#define HUTCH_EGRESS_GATEWAY_H

#include "egress/budget.h"
#include "egress/connection.h"
#include "egress/figures.h"
#include "egress/loop.h"
#include "egress/nameserver.h"
#include "egress/order.h"
#include "egress/planter.h"
#include "egress/resolver.h"
#include "egress/sites.h"
#include "egress/tls.h"

/* See init/plant.h. */
struct tap {
    struct watch watch;
    struct gateway *gateway;
    uint16_t family;
    bool is_udp;
    struct turn turn;
};

struct gateway {
    struct loop loop;
    struct egress_table *table;
    const struct tls_ops *tls;   /* NULL: this program has none */
    void *tls_authority;         /* the engine's own */
    const char *tls_certificate; /* of the authority; NULL: there is none */
    struct order *order;         /* NULL: nothing is allowed */
    uint32_t order_number;
    bool order_is_new; /* READY or FAILED is still to be said */
    struct hutch_error failure;
    struct watch control;
    struct tap taps[PLANT_TAPS];
    struct planter planter;
    struct nameserver nameserver;
    struct resolver resolver;
    struct resolution proxy; /* of the proxy's name */
    struct budget budget;
    struct connections connections;
    struct sites sites;
};

/* The program: descriptors as in link.h. Returns its exit status. */
int gateway_main(const struct tls_ops *tls);

/* control.c: the keeper's orders. */
int control_init(struct gateway *gateway, int fd, struct hutch_error *err);
/* Every site that was asked for has what it can get. */
void gateway_planted(struct gateway *gateway);
void gateway_plant_failed(struct gateway *gateway, const char *address, uint16_t port,
                          int os_errno);

/* tap.c: what was sent to sockets that are not there. Takes the descriptor. */
void tap_take(struct gateway *gateway, uint16_t family, uint16_t protocol, int fd);
/* What it holds is noted. */
void tap_drain(struct gateway *gateway);

/* accept.c */
void door_on_event(struct watch *watch, uint32_t events);

#endif
