/* SPDX-License-Identifier: Apache-2.0 */
/* The files that are in force together. A set never changes: who has one decides by it, while
 * another may take its place. */
#ifndef HUTCH_LIBHUTCH_POLICY_SET_H
#define HUTCH_LIBHUTCH_POLICY_SET_H

#include <stdatomic.h>

#include "core/policy.h"
#include "hutch/policy.h"

struct policy_set {
    atomic_uint holders;
    struct policy_file *files[POLICY_FILES]; /* the host's own, the caller's; NULL: none */
    char hash[POLICY_HASH_BYTES];            /* empty: there are none */
};

/* path NULL: by $HUTCH_POLICY or where the user's own is. *ret_set is NULL where there is no file
 * at all. */
HUTCH_MUST_CHECK int policy_set_load(const char *path, struct policy_set **ret_set,
                                     struct hutch_error *err);
/* One without a file: for whom there are no rules. */
HUTCH_MUST_CHECK int policy_set_empty(struct policy_set **ret_set, struct hutch_error *err);
struct policy_set *policy_set_hold(struct policy_set *set);
void policy_set_release(struct policy_set *set);

/* policy.c: the set that an open policy has now, held. May be NULL. */
struct policy_set *policy_now(struct hutch_policy *policy);

#endif
