/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "util/buf.h"

static void what_fits_stays_in_the_owners_array(void **state)
{
    (void)state;
    char array[8];
    struct hutch_buf buf = HUTCH_BUF_IN(array, 100);
    hutch_buf_puts(&buf, "1234567");
    assert_ptr_equal(buf.data, array);
    assert_string_equal(array, "1234567");
    assert_false(buf.failed);
    hutch_buf_done(&buf); /* frees nothing that is not its own */
    assert_null(buf.data);
}

static void what_does_not_fit_is_allocated_and_begins_with_what_was_there(void **state)
{
    (void)state;
    char array[8];
    struct hutch_buf buf = HUTCH_BUF_IN(array, 100);
    hutch_buf_puts(&buf, "1234567");
    hutch_buf_printf(&buf, "%d", 89);
    assert_ptr_not_equal(buf.data, array);
    assert_string_equal(buf.data, "123456789");
    for (int i = 0; i < 12; i++)
        hutch_buf_puts(&buf, "123456789");
    assert_true(buf.failed); /* past its ceiling */
    hutch_buf_done(&buf);
}

static void content_that_is_taken_is_never_the_owners_array(void **state)
{
    (void)state;
    char array[8];
    struct hutch_buf buf = HUTCH_BUF_IN(array, 100), empty = HUTCH_BUF_IN(array, 100);
    char *text = NULL;
    size_t length = 9;
    assert_int_equal(hutch_buf_take(&empty, &text, &length, NULL), 0);
    assert_int_equal(length, 0);
    assert_string_equal(text, "");
    assert_ptr_not_equal(text, array);
    free(text);
    hutch_buf_puts(&buf, "abc");
    assert_int_equal(hutch_buf_take(&buf, &text, &length, NULL), 0);
    memset(array, 'x', sizeof(array));
    assert_string_equal(text, "abc");
    free(text);
}

static void wiping_leaves_nothing_in_the_owners_array(void **state)
{
    (void)state;
    char array[16];
    const char zeros[sizeof(array)] = {0};
    struct hutch_buf buf = HUTCH_BUF_IN(array, 100);
    hutch_buf_puts(&buf, "secret");
    hutch_buf_wipe(&buf);
    assert_memory_equal(array, zeros, sizeof(array));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_stays_in_the_owners_array),
        cmocka_unit_test(what_does_not_fit_is_allocated_and_begins_with_what_was_there),
        cmocka_unit_test(content_that_is_taken_is_never_the_owners_array),
        cmocka_unit_test(wiping_leaves_nothing_in_the_owners_array),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
