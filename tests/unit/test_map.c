/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdio.h>

#include "core/map.h"

static void entries_are_sorted_and_keys_are_unique(void **state)
{
    static const char *const keys[] = {"m", "a", "z", "", "b", "m", "a"};
    struct hutch_map map = {0};
    struct hutch_error err;
    (void)state;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        assert_fine(hutch_map_set(&map, keys[i], "v", &err), &err);
    assert_int_equal(map.count, 5);
    for (size_t i = 1; i < map.count; i++)
        assert_true(strcmp(map.items[i - 1].key, map.items[i].key) < 0);
    hutch_map_done(&map);
    assert_null(map.items);
    assert_int_equal(map.count, 0);
}

static void the_last_value_wins(void **state)
{
    struct hutch_map map = {0};
    struct hutch_error err;
    (void)state;
    assert_null(hutch_map_get(&map, "k"));
    assert_fine(hutch_map_set(&map, "k", "first", &err), &err);
    assert_fine(hutch_map_setn(&map, "kk", 1, "second!", 6, &err), &err);
    assert_int_equal(map.count, 1);
    assert_string_equal(hutch_map_get(&map, "k"), "second");
    assert_null(hutch_map_get(&map, "kk"));
    hutch_map_done(&map);
}

static void many_entries_are_found_again(void **state)
{
    struct hutch_map map = {0};
    struct hutch_error err;
    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        char key[16];
        (void)snprintf(key, sizeof(key), "k%u", i * 7919 % 1000);
        assert_fine(hutch_map_set(&map, key, key, &err), &err);
    }
    assert_int_equal(map.count, 1000);
    assert_string_equal(hutch_map_get(&map, "k0"), "k0");
    assert_string_equal(hutch_map_get(&map, "k999"), "k999");
    hutch_map_done(&map);
}

static void a_full_map_takes_new_values_but_no_new_keys(void **state)
{
    struct hutch_map map = {0};
    struct hutch_error err;
    (void)state;
    for (unsigned i = 0; i < HUTCH_MAP_MAX_ENTRIES; i++) {
        char key[16];
        (void)snprintf(key, sizeof(key), "%08u", i);
        assert_fine(hutch_map_set(&map, key, "v", &err), &err);
    }
    assert_refused(hutch_map_set(&map, "one more", "v", &err), &err,
                   "more than 16384 entries, remove some");
    assert_fine(hutch_map_set(&map, "00000000", "new", &err), &err);
    assert_string_equal(hutch_map_get(&map, "00000000"), "new");
    hutch_map_done(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_are_sorted_and_keys_are_unique),
        cmocka_unit_test(the_last_value_wins),
        cmocka_unit_test(many_entries_are_found_again),
        cmocka_unit_test(a_full_map_takes_new_values_but_no_new_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
