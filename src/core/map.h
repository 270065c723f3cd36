/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_CORE_MAP_H
#define HUTCH_CORE_MAP_H

#include "core/spec.h"

/* More entries than this are refused: keeping the map sorted costs the square of their number. */
#define HUTCH_MAP_MAX_ENTRIES 16384

/* Adds an entry or replaces its value. Neither text may hold a NUL. */
int hutch_map_set(struct hutch_map *map, const char *key, const char *value,
                  struct hutch_error *err);
int hutch_map_setn(struct hutch_map *map, const char *key, size_t key_length, const char *value,
                   size_t value_length, struct hutch_error *err);
/* NULL when the key is not there. Borrowed. */
const char *hutch_map_get(const struct hutch_map *map, const char *key);
void hutch_map_done(struct hutch_map *map);

#endif
