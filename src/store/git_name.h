/* SPDX-License-Identifier: Apache-2.0 */
/* Names as git writes them in a diff. */
#ifndef HUTCH_STORE_GIT_NAME_H
#define HUTCH_STORE_GIT_NAME_H

#include "util/buf.h"

/* Appends prefix and path, in quotes with C's escapes when a byte of it is not printable ASCII, is
 * a quote or backslash, or is one of also_quoted. */
void store_git_name(struct hutch_buf *out, const char *prefix, const char *path,
                    const char *also_quoted);

#endif
