/* SPDX-License-Identifier: Apache-2.0 */
/* Values on their way from a keeper to a client through which output passes: in a memory file that
 * only the two have. */
#ifndef HUTCH_SECRETS_SHARE_H
#define HUTCH_SECRETS_SHARE_H

#include "secrets/set.h"

/* A set that has its own names. */
struct shared_secrets {
    struct secret_set set;
    struct hutch_secrets names;
};

/* A new memory file. */
int secret_set_share(const struct secret_set *set, struct hutch_error *err);
int shared_secrets_take(struct shared_secrets *secrets, int memfd, struct hutch_error *err);
void shared_secrets_done(struct shared_secrets *secrets);

#endif
