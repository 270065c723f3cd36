/* SPDX-License-Identifier: Apache-2.0 */
/* The names in a directory, or in two of them at once, sorted by bytes. */
#ifndef HUTCH_STORE_NAMES_H
#define HUTCH_STORE_NAMES_H

#include <stddef.h>

struct store_names {
    const char **items; /* into text */
    size_t count;
    char *text;
    size_t size_bytes; /* what all of this occupies */
};

/* Reads the names of one and other (either may be negative); a name in both is there once. Returns
 * 0, or -1 with errno: E2BIG when they would occupy more than ceiling_bytes. */
int store_names_read(int one, int other, size_t ceiling_bytes, struct store_names *ret_names);
void store_names_done(struct store_names *names);

#endif
