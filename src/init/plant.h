/* SPDX-License-Identifier: Apache-2.0 */
/* How the gateway gets sockets that live in the sandbox's network namespace: it asks PID 1, over a
 * SOCK_SEQPACKET pair of their own, and PID 1 opens, binds and listens, and hands them out. PID 1
 * keeps none: when the gateway dies, so does every socket, and the network is closed. The keeper
 * holds the gateway's end too, and gives it to the next gateway. */
#ifndef HUTCH_INIT_PLANT_H
#define HUTCH_INIT_PLANT_H

#include <stdint.h>

#define PLANT_MAX 64 /* sockets of one request */
#define PLANT_TAPS 4 /* two families, two protocols */
#define PLANT_TAP_BYTES 128

enum plant_kind {
    PLANT_TCP = 1, /* a listener */
    PLANT_UDP,
    PLANT_TAP, /* a raw socket: see src/init/network.c; its port is IPPROTO_TCP or IPPROTO_UDP. Of
                  each SYN or datagram to the networks below, but for those to and from the name
                  server, the first PLANT_TAP_BYTES: of IPv4 from the IP header on; of IPv6 from
                  what follows it, with IPV6_PKTINFO beside it */
};

struct plant_wish {
    uint16_t kind;
    uint16_t family; /* AF_INET or AF_INET6 */
    uint16_t port;   /* of the host's byte order */
    uint16_t reserved;
    uint8_t address[16]; /* the first 4 for AF_INET */
};

/* One request at a time is answered by one reply of the same number. A gateway begins with a number
 * that none before it had (the clock's, its pid's) and drops replies with another: they were for
 * the gateway before. Only what is used of wishes is sent. */
struct plant_request {
    uint32_t number;
    uint32_t count;
    uint32_t has_more; /* 1: another request follows before the first command may start */
    uint32_t reserved;
    struct plant_wish wishes[PLANT_MAX];
};

/* Whole, whatever the count. errors[i] is 0, and then the next of the descriptors is wish i's, or
 * an errno. */
struct plant_reply {
    uint32_t number;
    uint32_t count;
    int32_t errors[PLANT_MAX];
};

/* The sandbox's side of the network: the address of its name server, and the networks from which
 * names get their addresses; all of them are local to it. */
#define PLANT_SERVER_4 "198.18.0.1"
#define PLANT_SERVER_6 "fd68:7574:6368::1"
#define PLANT_NETWORK_4 "198.18.0.0"
#define PLANT_PREFIX_4 15
#define PLANT_NETWORK_6 "fd68:7574:6368::" /* the last 32 bits are those of the IPv4 twin */
#define PLANT_PREFIX_6 64

#endif
