/* SPDX-License-Identifier: Apache-2.0 */
/* The fields that map texts to texts. */
#include <stdlib.h>
#include <string.h>

#include "core/check.h"
#include "core/field_read.h"
#include "core/map.h"
#include "util/own.h"

static int pairs_set(const struct hutch_field_row *row, struct hutch_map *map, char *key,
                     const char *value, struct hutch_error *err)
{
    int r = hutch_field_types[row->type].check(key, err);
    if (r >= 0 && row->type == HUTCH_TYPE_LABELS)
        r = hutch_check_label(value, err);
    if (r < 0)
        return r;
    if (map->count >= row->max && !hutch_map_get(map, key))
        return hutch_fail_crowded(row, err);
    return hutch_map_set(map, key, value, err);
}

int hutch_pairs_add_text(const struct hutch_field_row *row, void *slot, const char *text,
                         struct hutch_error *err)
{
    const char *equals = strchr(text, '=');
    if (!equals)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "'%.80s' has no value, write it like 'KEY=value'%s", text,
                          row->type == HUTCH_TYPE_VARIABLES
                              ? ", or name it under pass_env to pass the caller's own"
                              : "");
    hutch_autofree char *key = strndup(text, (size_t)(equals - text));
    if (!key)
        return hutch_fail_nomem(err);
    return pairs_set(row, slot, key, equals + 1, err);
}

static int pairs_read_one(const struct hutch_field_row *row, struct hutch_map *map,
                          struct hutch_node node, struct hutch_error *err)
{
    const char *key = node.value->key;
    hutch_autofree char *value = NULL;
    if (hutch_read_text(node, &value, err) < 0)
        return hutch_wrap(err, "'%.80s': ", key);
    hutch_autofree char *own_key = strdup(key);
    if (!own_key)
        return hutch_fail_nomem(err);
    return pairs_set(row, map, own_key, value, err);
}

int hutch_pairs_read(const struct hutch_field_row *row, void *slot, struct hutch_node node,
                     struct hutch_error *err)
{
    if (node.value->type != HUTCH_VALUE_OBJECT)
        return hutch_fail_kind(node, "an object of strings", err);
    for (size_t i = 0; i < node.value->list.count; i++) {
        int r = pairs_read_one(row, slot, hutch_node_item(node, i), err);
        if (r < 0)
            return r;
    }
    return 0;
}

int hutch_pairs_write(const struct hutch_field_row *row, const void *slot, const char *key,
                      struct hutch_json_out *out, struct hutch_error *err)
{
    const struct hutch_map *map = slot;
    (void)row;
    hutch_json_open(out, key, '{');
    for (size_t i = 0; i < map->count; i++) {
        const struct hutch_map_entry *entry = &map->items[i];
        if (!hutch_utf8_valid(entry->key, strlen(entry->key)))
            return hutch_fail(err, HUTCH_E_INVALID, 0,
                              "a key is not UTF-8, so it cannot be written as JSON");
        if (hutch_write_text(entry->value, entry->key, out, err) < 0)
            return hutch_wrap(err, "'%.80s': ", entry->key);
    }
    hutch_json_close(out, '}');
    return 0;
}

void hutch_pairs_done(void *slot)
{
    hutch_map_done(slot);
}
