/* SPDX-License-Identifier: Apache-2.0 */
/* Subordinate ids of an ordinary user, through the setuid helpers newuidmap and newgidmap. */
#ifndef HUTCH_NATIVE_SUBID_H
#define HUTCH_NATIVE_SUBID_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/error.h"

struct identity;

/* The first id of the caller's ranges in /etc/subuid and /etc/subgid; false unless both have 65535
 * ids and the helpers exist. */
bool subid_find(uint32_t *ret_uid, uint32_t *ret_gid);
int subid_write_maps(const struct identity *identity, pid_t child, struct hutch_error *err);

#endif
