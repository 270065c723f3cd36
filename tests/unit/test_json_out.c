/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdio.h>

#include "util/json_out.h"
#include "util/own.h"

/* Writes one string and gives back the document. */
static char *written(const char *text, size_t length)
{
    struct hutch_buf buf = HUTCH_BUF(1u << 16);
    struct hutch_json_out out = {&buf, false};
    char *json = NULL;
    hutch_json_stringn(&out, NULL, text, length);
    assert_int_equal(hutch_buf_take(&buf, &json, NULL, NULL), 0);
    return json;
}

static void assert_written(const char *text, size_t length, const char *expected)
{
    char *json = written(text, length);
    assert_string_equal(json, expected);
    free(json);
}

static void control_characters_and_quotes_are_escaped(void **state)
{
    (void)state;
    assert_written("", 0, "\"\"");
    assert_written("plain", 5, "\"plain\"");
    assert_written("\"\\\b\f\n\r\t", 7, "\"\\\"\\\\\\b\\f\\n\\r\\t\"");
    assert_written("a\0b\x1f\x7f", 5, "\"a\\u0000b\\u001f\x7f\"");
}

static void numbers_are_written_to_their_last_digit(void **state)
{
    (void)state;
    struct hutch_buf buf = HUTCH_BUF(1u << 16);
    struct hutch_json_out out = {&buf, false};
    hutch_json_open(&out, NULL, '[');
    hutch_json_uint(&out, NULL, 0);
    hutch_json_uint(&out, NULL, 10);
    hutch_json_uint(&out, NULL, UINT64_MAX);
    hutch_json_int(&out, NULL, 7);
    hutch_json_int(&out, NULL, -10);
    hutch_json_int(&out, NULL, INT64_MIN);
    hutch_json_close(&out, ']');
    assert_string_equal(buf.data, "[0,10,18446744073709551615,7,-10,-9223372036854775808]");
    hutch_buf_done(&buf);
}

static void a_format_fills_the_room_or_makes_more(void **state)
{
    (void)state;
    struct hutch_buf buf = HUTCH_BUF(3000);
    char long_text[1500];
    memset(long_text, 'x', sizeof(long_text));
    long_text[sizeof(long_text) - 1] = '\0';
    hutch_buf_printf(&buf, "%d,", 1);
    hutch_buf_printf(&buf, "%s", "");
    hutch_buf_printf(&buf, "%s,", long_text);
    assert_false(buf.failed);
    assert_int_equal(buf.length, 2 + sizeof(long_text));
    assert_int_equal(strlen(buf.data), buf.length);
    hutch_buf_printf(&buf, "%s%s", long_text, long_text); /* beyond the ceiling */
    assert_true(buf.failed);
    assert_int_equal(strlen(buf.data), buf.length);
    hutch_buf_done(&buf);
}

static void utf8_is_written_as_it_is(void **state)
{
    (void)state;
    assert_written("gr\xC3\xBC\xC3\x9F \xF0\x9F\x90\x87", 11,
                   "\"gr\xC3\xBC\xC3\x9F \xF0\x9F\x90\x87\"");
}

static void what_is_not_utf8_is_replaced_byte_by_byte(void **state)
{
    (void)state;
    assert_written("a\xFFz", 3, "\"a\xEF\xBF\xBDz\"");
    assert_written("\xC3", 1, "\"\xEF\xBF\xBD\"");
    assert_written("\xE2\x82x", 3, "\"\xEF\xBF\xBD\xEF\xBF\xBDx\"");
}

static void utf8_is_judged_as_the_standard_does(void **state)
{
    static const struct {
        const char *text;
        bool valid;
    } cases[] = {
        {"", true},
        {"ascii and a bit more of it", true},
        {"\xC2\x80", true},          /* U+0080, the first of two bytes */
        {"\xC1\xBF", false},         /* overlong */
        {"\xE0\xA0\x80", true},      /* U+0800 */
        {"\xE0\x9F\xBF", false},     /* overlong */
        {"\xED\x9F\xBF", true},      /* U+D7FF */
        {"\xED\xA0\x80", false},     /* a surrogate */
        {"\xEE\x80\x80", true},      /* U+E000 */
        {"\xEF\xBF\xBF", true},      /* U+FFFF */
        {"\xF0\x90\x80\x80", true},  /* U+10000 */
        {"\xF0\x8F\xBF\xBF", false}, /* overlong */
        {"\xF4\x8F\xBF\xBF", true},  /* U+10FFFF */
        {"\xF4\x90\x80\x80", false}, /* beyond Unicode */
        {"\xF5\x80\x80\x80", false},
        {"\x80", false}, /* a continuation on its own */
        {"1234567\xC3", false},
        {"12345678\xC3\xA9", true},
        {"1234567\xC3\xA9\x38", true}, /* across the boundary of eight */
        {"\xE2\x82", false},
    };
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(cases); i++)
        if (hutch_utf8_valid(cases[i].text, strlen(cases[i].text)) != cases[i].valid)
            fail_msg("case %zu", i);
    assert_true(hutch_utf8_valid("a\0b", 3));
}

static void base64_pads_to_groups_of_four(void **state)
{
    static const char *const pairs[][2] = {
        {"", "\"\""},
        {"f", "\"Zg==\""},
        {"fo", "\"Zm8=\""},
        {"foo", "\"Zm9v\""},
        {"foob", "\"Zm9vYg==\""},
        {"fooba", "\"Zm9vYmE=\""},
        {"\xFF\xFE", "\"//4=\""},
    };
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(pairs); i++) {
        struct hutch_buf buf = HUTCH_BUF(100);
        struct hutch_json_out out = {&buf, false};
        hutch_json_base64(&out, NULL, pairs[i][0], strlen(pairs[i][0]));
        assert_string_equal(buf.data, pairs[i][1]);
        hutch_buf_done(&buf);
    }
}

static void base64_of_more_than_one_chunk_is_seamless(void **state)
{
    char data[3000];
    struct hutch_buf buf = HUTCH_BUF(5000);
    struct hutch_json_out out = {&buf, false};
    (void)state;
    memset(data, 'a', sizeof(data));
    hutch_json_base64(&out, NULL, data, sizeof(data));
    assert_int_equal(buf.length, 4002);
    for (size_t i = 1; i < 4001; i += 4)
        assert_memory_equal(buf.data + i, "YWFh", 4);
    hutch_buf_done(&buf);
}

static void commas_stand_between_values_only(void **state)
{
    struct hutch_buf buf = HUTCH_BUF(500);
    struct hutch_json_out out = {&buf, false};
    (void)state;
    hutch_json_open(&out, NULL, '{');
    hutch_json_open(&out, "empty", '[');
    hutch_json_close(&out, ']');
    hutch_json_uint(&out, "most", UINT64_MAX);
    hutch_json_int(&out, "least", INT64_MIN);
    hutch_json_open(&out, "list", '[');
    hutch_json_bool(&out, NULL, true);
    hutch_json_null(&out, NULL);
    hutch_json_string(&out, NULL, NULL);
    hutch_json_open(&out, NULL, '{');
    hutch_json_string(&out, "a\"b", "c");
    hutch_json_close(&out, '}');
    hutch_json_close(&out, ']');
    hutch_json_bool(&out, "last", false);
    hutch_json_close(&out, '}');
    assert_string_equal(buf.data, "{\"empty\":[],\"most\":18446744073709551615,"
                                  "\"least\":-9223372036854775808,"
                                  "\"list\":[true,null,null,{\"a\\\"b\":\"c\"}],\"last\":false}");
    hutch_buf_done(&buf);
}

static void a_full_buffer_fails_at_the_end(void **state)
{
    struct hutch_buf buf = HUTCH_BUF(8);
    struct hutch_json_out out = {&buf, false};
    struct hutch_error err = HUTCH_ERROR_INIT;
    char *json = NULL;
    (void)state;
    hutch_json_string(&out, NULL, "too long to fit");
    assert_int_equal(hutch_buf_take(&buf, &json, NULL, &err), -HUTCH_E_NO_MEMORY);
    assert_null(json);
    hutch_buf_done(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_characters_and_quotes_are_escaped),
        cmocka_unit_test(numbers_are_written_to_their_last_digit),
        cmocka_unit_test(a_format_fills_the_room_or_makes_more),
        cmocka_unit_test(utf8_is_written_as_it_is),
        cmocka_unit_test(what_is_not_utf8_is_replaced_byte_by_byte),
        cmocka_unit_test(utf8_is_judged_as_the_standard_does),
        cmocka_unit_test(base64_pads_to_groups_of_four),
        cmocka_unit_test(base64_of_more_than_one_chunk_is_seamless),
        cmocka_unit_test(commas_stand_between_values_only),
        cmocka_unit_test(a_full_buffer_fails_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
