/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_PORTER_ENGINES_H
#define HUTCH_PORTER_ENGINES_H

#include "porter/container.h"

/* Those that this program has, NULL-terminated. */
extern const struct container_ops *const porter_engines[];

/* The engine of this backend. */
int engine_find(const char *backend, const struct container_ops **ret_ops,
                struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
