/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_UTIL_STRLIST_H
#define HUTCH_UTIL_STRLIST_H

#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

/* A growing list of owned strings; items is NULL-terminated whenever it is not NULL, so it can
 * serve as argv or envp. */
struct hutch_strlist {
    char **items;
    size_t count;
    size_t capacity;
};

int hutch_strlist_add(struct hutch_strlist *list, const char *text, struct hutch_error *err);
int hutch_strlist_addn(struct hutch_strlist *list, const char *text, size_t length,
                       struct hutch_error *err);
/* Takes ownership of text, also on failure. */
int hutch_strlist_take(struct hutch_strlist *list, char *text, struct hutch_error *err);
bool hutch_strlist_has(const struct hutch_strlist *list, const char *text);
void hutch_strlist_done(struct hutch_strlist *list);

#endif
