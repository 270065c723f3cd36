/* SPDX-License-Identifier: Apache-2.0 */
/* One blob on its way, for registry_blobs.c. */
#ifndef HUTCH_IMAGE_REGISTRY_TRANSFER_H
#define HUTCH_IMAGE_REGISTRY_TRANSFER_H

#include "image/registry_parts.h"

enum transfer_state { TRANSFER_WAITING, TRANSFER_RUNNING, TRANSFER_FINISHED };

struct transfer {
    const struct registry_get *get;
    enum transfer_state state;
    int64_t not_before_ms; /* it waits until then */
    size_t endpoint;       /* that is asked */
    struct http_exchange exchange;
    char range[64];
    const char *headers[2];
    unsigned generation; /* of the login that it was asked with */
    uint64_t received;   /* what the sink has */
    uint64_t farthest;   /* it has ever had: only what is beyond is progress */
    uint64_t progress_from;
    unsigned failures; /* in a row, without progress */
    unsigned refusals;
    bool has_begun;   /* the answer that runs now was looked at */
    bool was_wrong;   /* this server has sent what it should not */
    bool trusts_none; /* the server's ranges are wrong: from the start, or not at all */
};

void transfer_init(const struct registry *registry, struct transfer *transfer,
                   const struct registry_get *get);
/* Asks for what is missing. A failure that may pass makes it wait. */
int transfer_start(struct registry *registry, struct transfer *transfer,
                   struct hutch_error *err) HUTCH_MUST_CHECK;
/* When its exchange is done: it is finished, goes on, waits for another try, or has failed. */
int transfer_end(struct registry *registry, struct transfer *transfer,
                 struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
