/* SPDX-License-Identifier: Apache-2.0 */
/* How much there is in an unpacked layer. */
#ifndef HUTCH_IMAGE_TREE_SUM_H
#define HUTCH_IMAGE_TREE_SUM_H

#include <stdint.h>

struct tree_sum {
    uint64_t entries;
    uint64_t bytes;      /* that its files hold */
    uint64_t disk_bytes; /* that they take; of a file with several names each counts its share */
};

/* Looks into directories to a certain depth, the same every time. Returns 0, or -1 with errno. */
int tree_sum(int parent, const char *name, struct tree_sum *ret_sum);

#endif
