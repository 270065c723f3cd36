/* SPDX-License-Identifier: Apache-2.0 */
/* What went out of a sandbox, and what did not. */
#ifndef HUTCH_EGRESS_H
#define HUTCH_EGRESS_H

#include <stddef.h>
#include <stdint.h>

#include "hutch/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A host and port that was reached. Bytes are the sandbox's: out of it, and into it. */
struct hutch_egress_host {
    const char *name;
    uint16_t port;
    uint64_t connections;
    uint64_t bytes_out;
    uint64_t bytes_in;
};

/* An attempt that led nowhere. */
struct hutch_egress_denial {
    uint64_t number;  /* counted from 0 as long as the sandbox exists */
    uint64_t time_us; /* since 1970 */
    const char *name; /* a host, or an address */
    uint16_t port;    /* 0: somebody asked for the name's address */
    const char *why;  /* a stable word such as "name", "port", "range" or "sni" */
    uint64_t times;   /* the same again within a second is not told apart */
};

struct hutch_egress {
    uint64_t connections;
    uint64_t connections_open; /* now */
    uint64_t bytes_out;
    uint64_t bytes_in;
    uint64_t denied;   /* attempts */
    uint64_t gateways; /* how many have served */
    const struct hutch_egress_host *hosts;
    size_t host_count;
    const struct hutch_egress_denial *denials; /* the latest, the oldest of them first */
    size_t denial_count;
};

HUTCH_API void hutch_egress_free(struct hutch_egress *egress);
/* One JSON object, with the denials. Free it with free(). */
HUTCH_API HUTCH_MUST_CHECK int hutch_egress_to_json(const struct hutch_egress *egress,
                                                    char **ret_json, struct hutch_error *err);

#ifdef __cplusplus
}
#endif
#endif
