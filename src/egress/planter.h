/* SPDX-License-Identifier: Apache-2.0 */
/* Asks PID 1 for sockets inside (init/plant.h), one request at a time. */
#ifndef HUTCH_EGRESS_PLANTER_H
#define HUTCH_EGRESS_PLANTER_H

#include "egress/loop.h"
#include "init/plant.h"

struct gateway;
struct site;

struct planter {
    struct watch watch;
    struct timer retry;
    uint32_t number;
    bool is_busy;
    bool has_server;            /* the name server's own sockets were asked for */
    struct plant_request asked; /* the one under way */
    size_t asked_bytes;
    struct site *sites[PLANT_MAX]; /* whose wish it is; NULL: the gateway's own */
    bool wants_next;               /* sites are waiting */
};

int planter_init(struct gateway *gateway, int fd, struct hutch_error *err);
/* Sites with is_wanted get their sockets; planter_done() of gateway.h is called when none is left.
 */
void planter_go(struct gateway *gateway);

#endif
