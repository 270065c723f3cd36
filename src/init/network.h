/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_INIT_NETWORK_H
#define HUTCH_INIT_NETWORK_H

#include <stdbool.h>

#include "init/plant.h"

struct network {
    bool is_pending;      /* not entered yet: what is opened now is in the host's network */
    long maker;           /* the thread that makes it; 0: none does */
    unsigned maker_busy;  /* a futex: the kernel clears it when the thread ends */
    long namespace;       /* as a descriptor; negative: minus why it could not be made */
    int plant;            /* to the gateway; negative: without egress */
    int taps[PLANT_TAPS]; /* of IPv4 TCP and UDP, of IPv6 TCP and UDP; negative: there is none */
    bool is_planted;      /* all that the first command needs is there */
};

/* network.c */
/* is_pending: false in a container, whose network is not ours to make. */
void network_init(struct network *network, bool is_pending);
/* Begins to make the namespace, beside whatever else is done. */
void network_begin(struct network *network);
/* Waits for it and enters it. Where it was not begun, it is made now. Nothing is done a second
 * time. */
int network_enter(struct network *network);
/* In it, all that egress takes, as long as there are capabilities for it. */
int network_raise(struct network *network);

/* plant.c: answers a request of the gateway's, if there is one; -1 when there will be none. */
int plant_serve(struct network *network);
/* Until everything is there that the first command needs. */
int plant_wait(struct network *network);

#endif
