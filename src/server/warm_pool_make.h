/* SPDX-License-Identifier: Apache-2.0 */
/* Members of the pools in the world: making them, and finding those of an earlier daemon. */
#ifndef HUTCH_SERVER_WARM_POOL_MAKE_H
#define HUTCH_SERVER_WARM_POOL_MAKE_H

#include "hutch/policy.h"
#include "hutch/sandbox.h"

/* A new one, ready. */
HUTCH_MUST_CHECK int warm_pool_make(struct hutch_policy *policy, const char *template,
                                    struct hutch_sandbox **ret_sandbox, struct hutch_error *err);
/* What the template says now; NULL where that is not known. Free it with free(). */
char *warm_pool_describe(const char *template);

/* Of two daemons with one home, only one may take what is left for its own: -1 for the other. */
int warm_pool_lock(void);
/* Each that is nobody's; the handle is the callee's. */
typedef void (*warm_pool_left_fn)(void *userdata, const char *template,
                                  struct hutch_sandbox *sandbox);
void warm_pool_find_left(warm_pool_left_fn on_left, void *userdata);

#endif
