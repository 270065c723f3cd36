/* SPDX-License-Identifier: Apache-2.0 */
#include "core/map.h"

#include <stdlib.h>
#include <string.h>

#include "util/own.h"

/* Index of the first entry whose key is not before this one. */
static size_t lower_bound(const struct hutch_map *map, const char *key)
{
    size_t low = 0;
    size_t high = map->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(map->items[middle].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_at(const struct hutch_map *map, size_t index, const char *key)
{
    return index < map->count && !strcmp(map->items[index].key, key);
}

static int grow(struct hutch_map *map, struct hutch_error *err)
{
    if (map->count >= HUTCH_MAP_MAX_ENTRIES)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "more than %d entries, remove some",
                          HUTCH_MAP_MAX_ENTRIES);
    if (map->count < map->capacity)
        return 0;
    size_t capacity = map->capacity ? map->capacity * 2 : 8;
    struct hutch_map_entry *items = reallocarray(map->items, capacity, sizeof(*items));
    if (!items)
        return hutch_fail_nomem(err);
    map->items = items;
    map->capacity = capacity;
    return 0;
}

int hutch_map_setn(struct hutch_map *map, const char *key, size_t key_length, const char *value,
                   size_t value_length, struct hutch_error *err)
{
    hutch_autofree char *own_key = strndup(key, key_length);
    hutch_autofree char *own_value = strndup(value, value_length);
    if (!own_key || !own_value)
        return hutch_fail_nomem(err);
    size_t index = lower_bound(map, own_key);
    if (is_at(map, index, own_key)) {
        free(map->items[index].value);
        map->items[index].value = HUTCH_TAKE_PTR(own_value);
        return 0;
    }
    int r = grow(map, err);
    if (r < 0)
        return r;
    struct hutch_map_entry *entry = &map->items[index];
    memmove(entry + 1, entry, (map->count - index) * sizeof(*entry));
    *entry = (struct hutch_map_entry){HUTCH_TAKE_PTR(own_key), HUTCH_TAKE_PTR(own_value)};
    map->count++;
    return 0;
}

int hutch_map_set(struct hutch_map *map, const char *key, const char *value,
                  struct hutch_error *err)
{
    return hutch_map_setn(map, key, strlen(key), value, strlen(value), err);
}

const char *hutch_map_get(const struct hutch_map *map, const char *key)
{
    size_t index = lower_bound(map, key);
    return is_at(map, index, key) ? map->items[index].value : NULL;
}

void hutch_map_done(struct hutch_map *map)
{
    for (size_t i = 0; i < map->count; i++) {
        free(map->items[i].key);
        free(map->items[i].value);
    }
    free(map->items);
    *map = (struct hutch_map){0};
}
