/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_PORTER_KEEP_H
#define HUTCH_PORTER_KEEP_H

#include "util/error.h"

/* The verb "keep" (order.h): returns when nothing is left of the container that was not to be kept,
 * with the exit status. */
int porter_keep(const char *backend);

/* yaml.c: the verb "yaml". */
int porter_yaml(struct hutch_error *err);

#endif
