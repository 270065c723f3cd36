/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_INIT_NETWORK_H
#define HUTCH_INIT_NETWORK_H

#include <stdbool.h>

#include "init/plant.h"

/* Of a sandbox with egress. */
struct network {
    int plant;            /* to the gateway; negative: without egress */
    int taps[PLANT_TAPS]; /* of IPv4 TCP and UDP, of IPv6 TCP and UDP; negative: there is none */
    bool is_planted;      /* all that the first command needs is there */
};

/* network.c */
int network_raise_loopback(void);
/* The same and all that egress takes, as long as there are capabilities for it. */
int network_raise(struct network *network);

/* plant.c: answers a request of the gateway's, if there is one; -1 when there will be none. */
int plant_serve(struct network *network);
/* Until everything is there that the first command needs. */
int plant_wait(struct network *network);

#endif
