/* SPDX-License-Identifier: Apache-2.0 */
/* The pieces of a sparse file that are not holes. */
#ifndef HUTCH_TAR_REGIONS_H
#define HUTCH_TAR_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tar_region {
    uint64_t offset;
    uint64_t length;
};

struct tar_regions {
    struct tar_region *items;
    size_t count;
    size_t capacity;
    uint64_t bytes; /* of all of them */
};

/* Returns 0, or -1 with errno: EOVERFLOW when it does not lie behind the last one, E2BIG when there
 * are more than an archive may have. */
int tar_regions_add(struct tar_regions *regions, uint64_t offset, uint64_t length);
/* They end within a file of this size. */
bool tar_regions_fit(const struct tar_regions *regions, uint64_t size);
void tar_regions_clear(struct tar_regions *regions);
void tar_regions_done(struct tar_regions *regions);

#endif
