/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "core/env_file.h"
#include "util/buf.h"

static void check_entries(const struct hutch_map *map)
{
    for (size_t i = 0; i < map->count; i++) {
        const struct hutch_map_entry *entry = &map->items[i];
        REQUIRE(*entry->key && !strpbrk(entry->key, "= \t\n"), "'%s'", entry->key);
        REQUIRE(!strchr(entry->value, '\n'), "'%s'", entry->value);
        REQUIRE(i == 0 || strcmp(map->items[i - 1].key, entry->key) < 0, "'%s'", entry->key);
        REQUIRE(hutch_map_get(map, entry->key) == entry->value, "'%s'", entry->key);
    }
}

/* Written with every value in quotes, the entries read back as they were. */
static void check_round_trip(const struct hutch_map *map)
{
    hutch_cleanup(hutch_buf_done) struct hutch_buf buf = HUTCH_BUF(16u << 20);
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_map again = {0};
    for (size_t i = 0; i < map->count; i++)
        hutch_buf_printf(&buf, "export %s=\"%s\"\n", map->items[i].key, map->items[i].value);
    if (buf.length > HUTCH_ENV_FILE_MAX_BYTES)
        return;
    int r = hutch_env_file_parse(buf.data ? buf.data : "", buf.length, &again, &err);
    REQUIRE(r == 0, "%s", err.msg);
    REQUIRE(again.count == map->count, "%zu entries, then %zu", map->count, again.count);
    for (size_t i = 0; i < map->count; i++) {
        REQUIRE(!strcmp(map->items[i].key, again.items[i].key), "'%s'", map->items[i].key);
        REQUIRE(!strcmp(map->items[i].value, again.items[i].value), "'%s'", map->items[i].key);
    }
    hutch_map_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_map map = {0};
    hutch_autofree char *text = malloc(size ? size : 1);
    REQUIRE(text, "out of memory");
    if (size)
        memcpy(text, data, size);
    int r = hutch_env_file_parse(text, size, &map, &err);
    if (r < 0) {
        fuzz_check_failure(r, &err);
        REQUIRE(!strncmp(err.msg, "line ", 5) || size > HUTCH_ENV_FILE_MAX_BYTES, "%s", err.msg);
    }
    check_entries(&map);
    check_round_trip(&map);
    hutch_map_done(&map);
    return 0;
}
