/* SPDX-License-Identifier: Apache-2.0 */
#include "tar/regions.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_REGIONS (1u << 20)

static uint64_t end_of(const struct tar_regions *regions)
{
    if (regions->count == 0)
        return 0;
    const struct tar_region *last = &regions->items[regions->count - 1];
    return last->offset + last->length;
}

static int make_room(struct tar_regions *regions)
{
    if (regions->count < regions->capacity)
        return 0;
    size_t capacity = regions->capacity ? regions->capacity * 2 : 16;
    struct tar_region *items = realloc(regions->items, capacity * sizeof(*items));
    if (!items)
        return -1;
    regions->items = items;
    regions->capacity = capacity;
    return 0;
}

int tar_regions_add(struct tar_regions *regions, uint64_t offset, uint64_t length)
{
    if (offset > INT64_MAX || length > INT64_MAX - offset || offset < end_of(regions)) {
        errno = EOVERFLOW;
        return -1;
    }
    if (regions->count == MAX_REGIONS) {
        errno = E2BIG;
        return -1;
    }
    if (make_room(regions) < 0)
        return -1;
    regions->items[regions->count++] = (struct tar_region){offset, length};
    regions->bytes += length;
    return 0;
}

bool tar_regions_fit(const struct tar_regions *regions, uint64_t size)
{
    return end_of(regions) <= size;
}

void tar_regions_clear(struct tar_regions *regions)
{
    regions->count = 0;
    regions->bytes = 0;
}

void tar_regions_done(struct tar_regions *regions)
{
    free(regions->items);
    *regions = (struct tar_regions){0};
}
