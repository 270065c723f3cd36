/* SPDX-License-Identifier: Apache-2.0 */
#include "tar/links.h"

#include <stdbool.h>
#include <stdlib.h>

#define MAX_LINKS (1u << 18)
#define MAX_NAMES_BYTES (64u << 20)

/* Open addressing: the slot that has the inode, or the free one where it belongs. */
static struct tar_link *find_slot(struct tar_link *slots, size_t capacity, dev_t dev, ino_t ino)
{
    uint64_t hash = ((uint64_t)ino ^ (uint64_t)dev << 32) * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = (size_t)(hash >> 20) & (capacity - 1);
    while (slots[at].name && (slots[at].dev != dev || slots[at].ino != ino))
        at = (at + 1) & (capacity - 1);
    return &slots[at];
}

static bool make_room(struct tar_links *links)
{
    if (links->used < links->capacity / 2)
        return true;
    size_t capacity = links->capacity ? links->capacity * 2 : 256;
    struct tar_link *slots = links->used < MAX_LINKS ? calloc(capacity, sizeof(*slots)) : NULL;
    if (!slots)
        return false;
    for (size_t i = 0; i < links->capacity; i++)
        if (links->slots[i].name)
            *find_slot(slots, capacity, links->slots[i].dev, links->slots[i].ino) = links->slots[i];
    free(links->slots);
    links->slots = slots;
    links->capacity = capacity;
    return true;
}

const char *tar_links_find_or_add(struct tar_links *links, const struct stat *info,
                                  const struct tar_text *name)
{
    bool room = make_room(links);
    if (!links->capacity)
        return NULL;
    struct tar_link *slot = find_slot(links->slots, links->capacity, info->st_dev, info->st_ino);
    if (slot->name)
        return links->names.data + slot->name - 1;
    size_t begin = links->names.length;
    if (!room || begin + name->length > MAX_NAMES_BYTES ||
        tar_text_append(&links->names, name->data, name->length + 1) < 0)
        return NULL;
    *slot = (struct tar_link){info->st_dev, info->st_ino, begin + 1};
    links->used++;
    return NULL;
}

void tar_links_done(struct tar_links *links)
{
    free(links->slots);
    tar_text_done(&links->names);
    *links = (struct tar_links){0};
}
