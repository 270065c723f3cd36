/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_LIBHUTCH_PROMISES_H
#define HUTCH_LIBHUTCH_PROMISES_H

#include "backend/backend.h"

/* Refuses what the backend would not enforce and the caller has not allowed to be missing. */
int hutch_promises_check(const struct hutch_spec *spec, const struct hutch_probe *probe,
                         hutch_promise_set *ret_missing, struct hutch_error *err);

#endif
