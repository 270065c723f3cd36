/* SPDX-License-Identifier: Apache-2.0 */
/* Where hutch keeps what it has to remember. */
#ifndef HUTCH_UTIL_STATE_DIR_H
#define HUTCH_UTIL_STATE_DIR_H

#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

/* $HUTCH_HOME/<kind>, or /run/hutch (kind "run") and /var/lib/hutch ("lib") for root, or the user's
 * XDG directories. Made when missing, refused when it belongs to somebody else. */
int state_directory(const char *kind, char *ret_path, size_t size, struct hutch_error *err);
/* Is it there already? Makes nothing. True also when nobody lets us look: state_directory says so.
 */
bool state_exists(const char *kind);

#endif
