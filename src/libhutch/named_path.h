/* SPDX-License-Identifier: Apache-2.0 */
/* Where named sandboxes are looked for. */
#ifndef HUTCH_LIBHUTCH_NAMED_PATH_H
#define HUTCH_LIBHUTCH_NAMED_PATH_H

#include <stdbool.h>

#include "util/strlist.h"

/* A name is one word: letters, digits, '.', '_' and '-', and begins with a letter or digit. It
 * becomes a directory's name and part of an image's. */
int named_check(const char *name, struct hutch_error *err) HUTCH_MUST_CHECK;
/* The directories to look in, in their order. Those that are not there are among them. */
int named_path(const char *const *first, struct hutch_strlist *ret_path,
               struct hutch_error *err) HUTCH_MUST_CHECK;
/* DIR/NAME when it is a named sandbox, to be freed; otherwise NULL. */
char *named_in(const char *directory, const char *name);
bool named_has(const char *sandbox, const char *file);

#endif
