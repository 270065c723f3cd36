/* SPDX-License-Identifier: Apache-2.0 */
/* The small program's own copying, under other names beside the C library's. */
#include "unit.h"

void *small_memcpy(void *restrict to, const void *restrict from, size_t length);
void *small_memmove(void *to, const void *from, size_t length);

enum { LENGTH_MAX = 1200, MARGIN = 24, WAYS = 2 * MARGIN, SPACE = LENGTH_MAX + 3 * MARGIN };

static void fill(unsigned char *bytes, unsigned seed)
{
    for (size_t i = 0; i < SPACE; i++)
        bytes[i] = (unsigned char)(seed + i * 7 + i / 256);
}

static void every_length_is_copied_and_no_byte_beside_it(void **state)
{
    (void)state;
    unsigned char from[SPACE], to[SPACE], expected[SPACE];
    for (size_t length = 0; length <= LENGTH_MAX; length++) {
        size_t in = length % 17, out = length % 13;
        fill(from, 1);
        fill(to, 100);
        fill(expected, 100);
        memcpy(expected + out, from + in, length);
        assert_ptr_equal(small_memcpy(to + out, from + in, length), to + out);
        assert_memory_equal(to, expected, SPACE);
    }
}

static void what_overlaps_is_moved_whole_either_way(void **state)
{
    (void)state;
    unsigned char bytes[SPACE], expected[SPACE];
    for (size_t length = 0; length <= LENGTH_MAX; length++) {
        for (size_t out = 0; out <= WAYS; out++) {
            fill(bytes, 1);
            fill(expected, 1);
            memmove(expected + out, expected + MARGIN, length);
            assert_ptr_equal(small_memmove(bytes + out, bytes + MARGIN, length), bytes + out);
            assert_memory_equal(bytes, expected, SPACE);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_length_is_copied_and_no_byte_beside_it),
        cmocka_unit_test(what_overlaps_is_moved_whole_either_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
