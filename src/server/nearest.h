/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean ...?": of the names that are offered, the one that differs least. */
#ifndef HUTCH_SERVER_NEAREST_H
#define HUTCH_SERVER_NEAREST_H

#include <stddef.h>

#define NEAREST_BYTES 48

struct nearest {
    const char *written;
    char name[NEAREST_BYTES]; /* "": nothing is near */
    size_t distance;
};

void nearest_offer(struct nearest *nearest, const char *name, size_t length);

#endif
