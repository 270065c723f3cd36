/* SPDX-License-Identifier: Apache-2.0 */
/* Host trees that enter a sandbox. Root clones them itself, as descriptors with mapped owners; for
 * an ordinary user PID 1 clones them by path, with that user's own rights. */
#ifndef HUTCH_NATIVE_SOURCE_H
#define HUTCH_NATIVE_SOURCE_H

#include <sys/stat.h>

#include "backend/native/plan.h"

/* Checks every source and, when privileged, clones it. */
int source_open_all(struct plan *plan, bool privileged, struct hutch_error *err);
/* Maps owners, once the sandbox's user namespace exists. */
int source_map_owners(struct plan *plan, const struct identity *identity, int sandbox_userns,
                      struct hutch_error *err);
/* May it enter a sandbox by its path, mounted by somebody else with all that is mounted below? */
int source_check(const char *path, struct stat *ret_info, struct hutch_error *err);

/* A path that a policy has allowed: the descriptor, or -1 with errno, ELOOP where there is a link
 * on the way now. */
int source_open_resolved(const char *path, int flags);
int source_fail_link(const char *path, struct hutch_error *err);

#endif
