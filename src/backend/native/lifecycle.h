/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_NATIVE_LIFECYCLE_H
#define HUTCH_NATIVE_LIFECYCLE_H

#include "backend/native/home.h"
#include "core/promise.h"
#include "hutch/sandbox.h"

/* The defaults of a longer life. */
int lifecycle_defaults(struct hutch_spec *spec, struct hutch_error *err);
/* Everything that depends on the caller is settled. */
int lifecycle_settle(struct hutch_spec *spec, struct hutch_error *err);
int lifecycle_create(struct hutch_spec *spec, hutch_promise_set missing,
                     struct hutch_sandbox **ret_sandbox, struct hutch_error *err);
/* One with the files of another. */
int lifecycle_derive(struct hutch_spec *spec, const struct home_record *origin, bool starts,
                     struct hutch_sandbox **ret_sandbox, struct hutch_error *err);
int lifecycle_open(const char *name, struct hutch_sandbox **ret_sandbox, struct hutch_error *err);
int lifecycle_start(struct hutch_sandbox *sandbox, struct hutch_error *err);
int lifecycle_stop(struct hutch_sandbox *sandbox, const char *reason, uint64_t grace_ms,
                   struct hutch_error *err);
int lifecycle_remove(struct hutch_sandbox *sandbox, bool force, struct hutch_error *err);

#endif
