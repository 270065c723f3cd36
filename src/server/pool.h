/* SPDX-License-Identifier: Apache-2.0 */
/* Sandboxes that are ready before anybody asks for them.
 *
 * A member is an ordinary sandbox that belongs to nobody and is named pool-..., with the label
 * hutch.pool=TEMPLATE. It is handed out once: its keeper gives it the request's name, labels and
 * tenant (hutch_sandbox_claim()), and what it has become is on disk before the request is answered.
 * One thread makes new ones, removes those that have ended or are no longer what their template
 * says, and at the beginning adopts what an earlier daemon left. */
#ifndef HUTCH_SERVER_POOL_H
#define HUTCH_SERVER_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "hutch/sandbox.h"

struct pool;
struct server;

#define POOL_DEFAULT "default" /* the template of a plain create */
#define POOL_LABEL HUTCH_POOL_LABEL

/* Begins to fill what server->pools says. Without any, what an earlier daemon left is removed. */
HUTCH_MUST_CHECK int warm_pool_new(struct server *server, struct pool **ret_pool,
                                   struct hutch_error *err);
/* Waits for what is being made, and removes every member. Whoever claims one from then on gets
 * none. */
void warm_pool_end(struct pool *pool);
/* When nobody claims any more. */
void warm_pool_free(struct pool *pool);

/* 0: a member has become what the spec says. POOL_NONE: there is none that fits, and a new one has
 * to be made. Otherwise it failed as hutch_sandbox_claim() does. template NULL: a plain create. The
 * spec is completed whatever happens. */
#define POOL_NONE 1
HUTCH_MUST_CHECK int warm_pool_claim(struct pool *pool, const char *template,
                                     struct hutch_spec *spec, struct hutch_sandbox **ret_sandbox,
                                     struct hutch_error *err);
/* What was claimed is made again, in a while; when its answer is on its way. */
void warm_pool_refill(struct pool *pool);
/* Is there a pool of this template at all? */
bool warm_pool_has(const struct pool *pool, const char *template);

struct warm_pool_count {
    const char *template;
    uint64_t wanted;
    uint64_t ready;
    uint64_t handed_out; /* since the start */
    uint64_t failures;   /* to make one */
};
/* Any thread: of the pool with this number; false when there is none. */
bool warm_pool_count(struct pool *pool, size_t index, struct warm_pool_count *ret_count);

#endif
