/* SPDX-License-Identifier: Apache-2.0 */
/* The keeper's side of a sandbox's way out (src/egress/link.h): it starts the gateway, gives it its
 * orders, starts another when it dies, and ends it with the sandbox. While none lives nothing goes
 * out, for every socket of the sandbox's network dies with its gateway. */
#ifndef HUTCH_NATIVE_GATEWAY_H
#define HUTCH_NATIVE_GATEWAY_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "hutch/egress.h"
#include "util/buf.h"
#include "util/error.h"

struct keeper;

struct gateway {
    bool is_wanted; /* the sandbox has egress */
    pid_t pid;      /* 0: none lives */
    int pidfd;
    int control;
    int table;               /* what is told of the network; outlives a gateway */
    int plant;               /* the gateways' end of the way to PID 1 */
    int plant_inside;        /* PID 1's, until it has it */
    uint32_t order;          /* number of the last one */
    bool has_served;         /* a gateway has carried one out */
    bool is_released;        /* it need not serve any longer, and nobody is to follow it */
    unsigned deaths;         /* in a row, each soon after a start */
    bool intercepts;         /* TLS, for secrets that go there */
    uint8_t seed[32];        /* of the sandbox's own authority */
    char *authority;         /* its certificate, once it is known */
    uint64_t started_us;     /* the present one */
    uint64_t start_again_us; /* when the next one starts; 0: none is due */
};

/* What a gateway has said. */
enum gateway_word {
    GATEWAY_NOTHING,
    GATEWAY_DONE,    /* the order is carried out, which may be an older one */
    GATEWAY_REFUSED, /* it is not: see the error */
    GATEWAY_USELESS, /* none could be started, and none ever has served */
};

#define GATEWAY_FDS 2

/* Descriptors that are not there, as a keeper begins. */
void gateway_init(struct gateway *gateway);
/* Starts the first one; what it needs of PID 1 comes later. Nothing without egress. */
int gateway_open(struct keeper *keeper, struct hutch_error *err);
/* Waits for the certificate of the sandbox's own authority. */
int gateway_await_authority(struct gateway *gateway, struct hutch_error *err);
/* What to poll. */
void gateway_watch(const struct gateway *gateway, struct pollfd fds[GATEWAY_FDS]);
/* What came of it. number: of the order that the word is about. */
enum gateway_word gateway_hear(struct keeper *keeper, const struct pollfd fds[GATEWAY_FDS],
                               uint32_t *ret_number, struct hutch_error *err);
/* Starts another one that is due; when to look again. */
uint64_t gateway_look(struct keeper *keeper);
/* The spec has changed. */
int gateway_order(struct keeper *keeper, struct hutch_error *err);
/* It need not serve any longer; it is not waited for. */
void gateway_release(struct gateway *gateway);
/* Waits for its end, and makes it end. The table stays. */
void gateway_end(struct gateway *gateway);
void gateway_done(struct gateway *gateway);

/* gateway_order.c: the blob of an order, by what the spec says now. */
int gateway_order_build(const struct keeper *keeper, struct hutch_buf *blob,
                        struct hutch_error *err);

/* egress_table.c. A new table, in memory, or in a sandbox's home, where it is found again. */
int egress_table_new(struct hutch_error *err);
int egress_table_open(int home, struct hutch_error *err);
/* With nothing open: there is no gateway. */
void egress_table_settle(int table);
/* All of it that is believable. */
int egress_table_read(int table, struct hutch_egress **ret_egress, struct hutch_error *err);
/* Of a sandbox by its home; NULL where it has none. */
int egress_table_look(int home, struct hutch_egress **ret_egress, struct hutch_error *err);

#endif
