/* SPDX-License-Identifier: Apache-2.0 */
/* How much there is in an unpacked layer. */
#ifndef HUTCH_IMAGE_TREE_SUM_H
#define HUTCH_IMAGE_TREE_SUM_H

#include <stdint.h>

/* Each level is a descriptor and a stack frame, and whoever made the tree has chosen how many. */
#define TREE_SUM_LEVELS 64

struct tree_sum {
    uint64_t entries;    /* with the tree itself */
    uint64_t bytes;      /* that its files hold, for each of their names */
    uint64_t disk_bytes; /* that they take; of a file with several names each counts its share */
};

/* Looks into directories to a certain depth, the same every time. Returns 0, or -1 with errno. */
int tree_sum(int parent, const char *name, struct tree_sum *ret_sum);

#endif
