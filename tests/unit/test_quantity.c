/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <math.h>

#include "core/quantity.h"
#include "util/own.h"

struct good {
    enum hutch_quantity kind;
    const char *text;
    uint64_t value;
};

static void what_people_write_is_understood(void **state)
{
    static const struct good cases[] = {
        {HUTCH_QUANTITY_SIZE, "0", 0},
        {HUTCH_QUANTITY_SIZE, "1024", 1024},
        {HUTCH_QUANTITY_SIZE, "7b", 7},
        {HUTCH_QUANTITY_SIZE, "1k", 1024},
        {HUTCH_QUANTITY_SIZE, "512m", UINT64_C(512) << 20},
        {HUTCH_QUANTITY_SIZE, "512M", UINT64_C(512) << 20},
        {HUTCH_QUANTITY_SIZE, "1g", UINT64_C(1) << 30},
        {HUTCH_QUANTITY_SIZE, "1.5g", UINT64_C(3) << 29},
        {HUTCH_QUANTITY_SIZE, "2T", UINT64_C(1) << 41},
        {HUTCH_QUANTITY_SIZE, "64mb", UINT64_C(64) << 20},
        {HUTCH_QUANTITY_SIZE, "64MiB", UINT64_C(64) << 20},
        {HUTCH_QUANTITY_SIZE, "0.1k", 102},
        {HUTCH_QUANTITY_SIZE, "5.0b", 5},
        {HUTCH_QUANTITY_SIZE, "18446744073709551615", UINT64_MAX},
        {HUTCH_QUANTITY_SIZE, "16777215t", UINT64_C(16777215) << 40},
        {HUTCH_QUANTITY_DURATION, "500ms", 500},
        {HUTCH_QUANTITY_DURATION, "30s", 30000},
        {HUTCH_QUANTITY_DURATION, "30", 30000},
        {HUTCH_QUANTITY_DURATION, "1.5s", 1500},
        {HUTCH_QUANTITY_DURATION, ".5s", 500},
        {HUTCH_QUANTITY_DURATION, "0.0015", 2},
        {HUTCH_QUANTITY_DURATION, "5m", 300000},
        {HUTCH_QUANTITY_DURATION, "2h", 7200000},
        {HUTCH_QUANTITY_DURATION, "1d", 86400000},
        {HUTCH_QUANTITY_DURATION, "0.123456789s", 123},
        {HUTCH_QUANTITY_CPUS, "1.5", 1500},
        {HUTCH_QUANTITY_CPUS, "0.01", 10},
        {HUTCH_QUANTITY_CPUS, "4096", 4096000},
        {HUTCH_QUANTITY_COUNT, "256", 256},
        {HUTCH_QUANTITY_COUNT, "0256", 256},
    };
    struct hutch_error err;
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(cases); i++) {
        uint64_t value = 12345;
        assert_fine(hutch_quantity_parse(cases[i].kind, cases[i].text, &value, &err), &err);
        if (value != cases[i].value)
            fail_msg("'%s' is %llu", cases[i].text, (unsigned long long)value);
    }
}

static void what_is_no_quantity_is_refused(void **state)
{
    static const struct {
        enum hutch_quantity kind;
        const char *text;
    } cases[] = {
        {HUTCH_QUANTITY_SIZE, ""},
        {HUTCH_QUANTITY_SIZE, " 1"},
        {HUTCH_QUANTITY_SIZE, "1 "},
        {HUTCH_QUANTITY_SIZE, "-1"},
        {HUTCH_QUANTITY_SIZE, "+1"},
        {HUTCH_QUANTITY_SIZE, "m"},
        {HUTCH_QUANTITY_SIZE, "1."},
        {HUTCH_QUANTITY_SIZE, "1.m"},
        {HUTCH_QUANTITY_SIZE, "."},
        {HUTCH_QUANTITY_SIZE, "1.5"},
        {HUTCH_QUANTITY_SIZE, "0.5b"},
        {HUTCH_QUANTITY_SIZE, "1mm"},
        {HUTCH_QUANTITY_SIZE, "1mbx"},
        {HUTCH_QUANTITY_SIZE, "1e9"},
        {HUTCH_QUANTITY_SIZE, "0x10"},
        {HUTCH_QUANTITY_SIZE, "nan"},
        {HUTCH_QUANTITY_SIZE, "inf"},
        {HUTCH_QUANTITY_SIZE, "1,5g"},
        {HUTCH_QUANTITY_SIZE, "1.2.3g"},
        {HUTCH_QUANTITY_SIZE, "0.0000001t"},
        {HUTCH_QUANTITY_SIZE, "16777216t"},
        {HUTCH_QUANTITY_SIZE, "18446744073709551616"},
        {HUTCH_QUANTITY_SIZE, "99999999999999999999999999999999999999999999999999"},
        {HUTCH_QUANTITY_SIZE, "5s"},
        {HUTCH_QUANTITY_DURATION, "5k"},
        {HUTCH_QUANTITY_DURATION, "1.5ms"},
        {HUTCH_QUANTITY_DURATION, "0.0001s"},
        {HUTCH_QUANTITY_DURATION, "1m30s"},
        {HUTCH_QUANTITY_DURATION, "NaN"},
        {HUTCH_QUANTITY_CPUS, "1m"},
        {HUTCH_QUANTITY_CPUS, "all"},
        {HUTCH_QUANTITY_COUNT, "1.5"},
        {HUTCH_QUANTITY_COUNT, "5.0000001"},
        {HUTCH_QUANTITY_COUNT, "1k"},
    };
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(cases); i++) {
        struct hutch_error err = HUTCH_ERROR_INIT;
        uint64_t value = 12345;
        if (hutch_quantity_parse(cases[i].kind, cases[i].text, &value, &err) != -HUTCH_E_INVALID)
            fail_msg("'%s' is taken as %llu", cases[i].text, (unsigned long long)value);
        assert_int_equal(value, 12345);
        assert_non_null(strstr(err.msg, "write it like '"));
    }
}

static void a_message_shows_the_value_and_a_right_one(void **state)
{
    struct hutch_error err;
    uint64_t value;
    (void)state;
    assert_refused(hutch_quantity_parse(HUTCH_QUANTITY_SIZE, "lots", &value, &err), &err,
                   "'lots' is not a size, write it like '512m' or '1.5g'");
    assert_refused(hutch_quantity_parse(HUTCH_QUANTITY_DURATION, "", &value, &err), &err,
                   "'' is not a duration, write it like '500ms', '30s' or '5m'");
    assert_refused(hutch_quantity_parse(HUTCH_QUANTITY_DURATION, "1.5ms", &value, &err), &err,
                   "'1.5ms' is not a whole number of milliseconds, write it like '500ms', '30s' or "
                   "'5m'");
    assert_refused(hutch_quantity_parse(HUTCH_QUANTITY_CPUS, "99999999999999999999", &value, &err),
                   &err,
                   "'99999999999999999999' is too large for a number of processors, write it like "
                   "'2' or '0.5'");
    assert_refused(hutch_quantity_parse(HUTCH_QUANTITY_COUNT, "-3", &value, &err), &err,
                   "'-3' is not a whole number, write it like '256'");
}

static void numbers_of_documents_mean_the_same_as_text(void **state)
{
    struct hutch_error err;
    uint64_t value;
    (void)state;
    assert_fine(hutch_quantity_from_real(HUTCH_QUANTITY_DURATION, 1.5, &value, &err), &err);
    assert_int_equal(value, 1500);
    assert_fine(hutch_quantity_from_real(HUTCH_QUANTITY_DURATION, 0.1, &value, &err), &err);
    assert_int_equal(value, 100);
    assert_fine(hutch_quantity_from_real(HUTCH_QUANTITY_SIZE, 1e9, &value, &err), &err);
    assert_int_equal(value, 1000000000);
    assert_fine(hutch_quantity_from_real(HUTCH_QUANTITY_CPUS, 0.01, &value, &err), &err);
    assert_int_equal(value, 10);
}

static void numbers_that_mean_nothing_are_refused(void **state)
{
    static const double cases[] = {-1.0, -0.001, 1.5, 1e300, 1e17, 0.25, 1e-300};
    struct hutch_error err;
    uint64_t value = 12345;
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(cases); i++)
        assert_int_equal(hutch_quantity_from_real(HUTCH_QUANTITY_SIZE, cases[i], &value, &err),
                         -HUTCH_E_INVALID);
    assert_int_equal(hutch_quantity_from_real(HUTCH_QUANTITY_CPUS, (double)NAN, &value, &err),
                     -HUTCH_E_INVALID);
    assert_int_equal(hutch_quantity_from_real(HUTCH_QUANTITY_CPUS, (double)INFINITY, &value, &err),
                     -HUTCH_E_INVALID);
    assert_int_equal(hutch_quantity_from_real(HUTCH_QUANTITY_CPUS, 1e-9, &value, &err),
                     -HUTCH_E_INVALID);
    assert_int_equal(value, 12345);
}

static void values_are_written_shortly_and_exactly(void **state)
{
    static const struct good cases[] = {
        {HUTCH_QUANTITY_SIZE, "0", 0},
        {HUTCH_QUANTITY_SIZE, "1000", 1000},
        {HUTCH_QUANTITY_SIZE, "4m", UINT64_C(4) << 20},
        {HUTCH_QUANTITY_SIZE, "1024t", UINT64_C(1) << 50},
        {HUTCH_QUANTITY_SIZE, "18446744073709551615", UINT64_MAX},
        {HUTCH_QUANTITY_DURATION, "0ms", 0},
        {HUTCH_QUANTITY_DURATION, "1500ms", 1500},
        {HUTCH_QUANTITY_DURATION, "5m", 300000},
        {HUTCH_QUANTITY_DURATION, "301s", 301000},
        {HUTCH_QUANTITY_DURATION, "30d", UINT64_C(30) * 86400000},
        {HUTCH_QUANTITY_CPUS, "2", 2000},
        {HUTCH_QUANTITY_CPUS, "1.5", 1500},
        {HUTCH_QUANTITY_CPUS, "0.001", 1},
        {HUTCH_QUANTITY_COUNT, "256", 256},
    };
    struct hutch_error err;
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(cases); i++) {
        char text[HUTCH_QUANTITY_TEXT_SIZE];
        uint64_t value;
        hutch_quantity_format(cases[i].kind, cases[i].value, text);
        assert_string_equal(text, cases[i].text);
        assert_fine(hutch_quantity_parse(cases[i].kind, text, &value, &err), &err);
        assert_int_equal(value, cases[i].value);
    }
}

static void ranges_name_their_bound(void **state)
{
    const struct hutch_range range = {HUTCH_QUANTITY_SIZE, 4u << 20, 8u << 20, false};
    struct hutch_error err;
    uint64_t value = 12345;
    (void)state;
    assert_refused(hutch_range_parse(&range, "1m", &value, &err), &err,
                   "'1m' is too little, the least is '4m'");
    assert_refused(hutch_range_parse(&range, "9m", &value, &err), &err,
                   "'9m' is too much, the most is '8m'");
    assert_refused(hutch_range_from_real(&range, 3.0, &value, &err), &err,
                   "'3' is too little, the least is '4m'");
    assert_refused(hutch_range_parse(&range, "none", &value, &err), &err,
                   "'none' is not a size, write it like '512m' or '1.5g'");
    assert_int_equal(value, 12345);
    assert_fine(hutch_range_parse(&range, "8m", &value, &err), &err);
    assert_int_equal(value, 8u << 20);
}

static void none_is_zero_where_it_is_allowed(void **state)
{
    const struct hutch_range range = {HUTCH_QUANTITY_DURATION, 10, 1000, true};
    struct hutch_error err;
    uint64_t value = 12345;
    (void)state;
    assert_fine(hutch_range_parse(&range, "none", &value, &err), &err);
    assert_int_equal(value, 0);
    value = 12345;
    assert_fine(hutch_range_parse(&range, "0", &value, &err), &err);
    assert_int_equal(value, 0);
    /* Not by rounding. */
    assert_int_equal(hutch_range_parse(&range, "0.0001s", &value, &err), -HUTCH_E_INVALID);
    assert_int_equal(hutch_range_from_real(&range, 0.0001, &value, &err), -HUTCH_E_INVALID);
    assert_refused(hutch_range_parse(&range, "9ms", &value, &err), &err,
                   "'9ms' is too little, the least is '10ms'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_people_write_is_understood),
        cmocka_unit_test(what_is_no_quantity_is_refused),
        cmocka_unit_test(a_message_shows_the_value_and_a_right_one),
        cmocka_unit_test(numbers_of_documents_mean_the_same_as_text),
        cmocka_unit_test(numbers_that_mean_nothing_are_refused),
        cmocka_unit_test(values_are_written_shortly_and_exactly),
        cmocka_unit_test(ranges_name_their_bound),
        cmocka_unit_test(none_is_zero_where_it_is_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
