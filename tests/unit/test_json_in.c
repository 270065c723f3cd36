/* SPDX-License-Identifier: Apache-2.0 */
/* The classes of the well-known JSON test suites: what must be taken, what must be refused, and
 * what is ours to decide. */
#include "unit.h"

#include <locale.h>
#include <stdio.h>
#include <time.h>

#include "core/json_in.h"
#include "util/own.h"

/* Reads a copy without a NUL after it, so that the sanitizer sees a reader that goes on. */
static int parse_bytes(const char *text, size_t length, struct hutch_value *value,
                       struct hutch_error *err)
{
    char *copy = malloc(length ? length : 1);
    assert_non_null(copy);
    if (length)
        memcpy(copy, text, length);
    int r = hutch_json_parse(copy, length, value, err);
    free(copy);
    return r;
}

static struct hutch_value parse(const char *text)
{
    struct hutch_value value = {0};
    struct hutch_error err;
    assert_fine(parse_bytes(text, strlen(text), &value, &err), &err);
    return value;
}

static void assert_string(const char *text, const char *expected)
{
    struct hutch_value value = parse(text);
    assert_string_equal(hutch_value_text(&value), expected);
    assert_int_equal(value.string.length, strlen(expected));
    hutch_value_done(&value);
}

static void every_kind_of_value_may_be_a_document(void **state)
{
    static const struct {
        const char *text;
        enum hutch_value_type type;
        const char *kind;
    } cases[] = {
        {"null", HUTCH_VALUE_NULL, "null"},
        {"true", HUTCH_VALUE_BOOL, "true"},
        {"false", HUTCH_VALUE_BOOL, "false"},
        {"7", HUTCH_VALUE_INTEGER, "a number"},
        {"7.5", HUTCH_VALUE_NUMBER, "a number"},
        {"\"\"", HUTCH_VALUE_STRING, "a string"},
        {"[]", HUTCH_VALUE_ARRAY, "a list"},
        {"{}", HUTCH_VALUE_OBJECT, "an object"},
        {" \t\r\n[ ]\n ", HUTCH_VALUE_ARRAY, "a list"},
    };
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(cases); i++) {
        struct hutch_value value = parse(cases[i].text);
        assert_int_equal(value.type, cases[i].type);
        assert_string_equal(hutch_value_kind(&value), cases[i].kind);
        hutch_value_done(&value);
    }
}

static void a_tree_keeps_order_keys_and_lines(void **state)
{
    struct hutch_value tree = parse("{\n\"z\": [1, [2],\n{}],\n\"\":\n\"x\",\n\"a\\n\": true}");
    (void)state;
    assert_int_equal(tree.list.count, 3);
    const struct hutch_value *items = tree.list.items;
    assert_string_equal(items[0].key, "z");
    assert_string_equal(items[1].key, "");
    assert_string_equal(items[2].key, "a\n");
    assert_int_equal(items[0].list.count, 3);
    assert_int_equal(items[0].list.items[1].list.items[0].integer, 2);
    assert_int_equal(items[0].list.items[2].line, 3);
    assert_int_equal(items[1].line, 4); /* of the key */
    assert_int_equal(items[2].line, 6);
    assert_ptr_equal(hutch_value_get(&tree, "a\n"), &items[2]);
    assert_null(hutch_value_get(&tree, "a"));
    assert_null(hutch_value_get(&items[0], "a"));
    assert_string_equal(hutch_value_text(hutch_value_get(&tree, "")), "x");
    assert_null(hutch_value_text(hutch_value_get(&tree, "z")));
    assert_null(hutch_value_text(NULL));
    hutch_value_done(&tree);
    assert_int_equal(tree.type, HUTCH_VALUE_NULL);
}

static void integers_are_exact(void **state)
{
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {
        {"0", 0},
        {"-0", 0},
        {"-1", -1},
        {"9007199254740993", 9007199254740993},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775808", INT64_MIN},
    };
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(cases); i++) {
        struct hutch_value value = parse(cases[i].text);
        assert_int_equal(value.type, HUTCH_VALUE_INTEGER);
        assert_true(value.integer == cases[i].value);
    }
}

static void assert_numbers(void)
{
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {"1.5", 1.5},
        {"-0.0", 0},
        {"1e3", 1000},
        {"1E+2", 100},
        {"-25e-2", -0.25},
        {"0.1", 0.1},
        {"0e0", 0},
        {"123.456e-1", 12.3456},
        {"1e-400", 0},
        {"2.2250738585072011e-308", 2.2250738585072011e-308},
        {"9223372036854775808.0", 9223372036854775808.0},
        {"1.7976931348623157e308", 1.7976931348623157e308},
    };
    for (size_t i = 0; i < HUTCH_COUNT(cases); i++) {
        struct hutch_value value = parse(cases[i].text);
        assert_int_equal(value.type, HUTCH_VALUE_NUMBER);
        if (value.number < cases[i].value || value.number > cases[i].value)
            fail_msg("%s is %g", cases[i].text, value.number);
    }
}

static void numbers_are_the_nearest_double(void **state)
{
    (void)state;
    assert_numbers();
}

/* A program around hutch may have a locale in which 1.5 is written 1,5. */
static void the_locale_has_no_say(void **state)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    const char *set = NULL;
    (void)state;
    for (size_t i = 0; !set && i < HUTCH_COUNT(names); i++)
        set = setlocale(LC_ALL, names[i]);
    if (!set)
        skip();
    assert_numbers();
    (void)setlocale(LC_ALL, "C");
}

static void every_escape_is_undone(void **state)
{
    (void)state;
    assert_string("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t");
    assert_string("\"\\u0041\\u00e9\\u00E9\\u20ac\\uFFFF\"",
                  "A\xC3\xA9\xC3\xA9\xE2\x82\xAC\xEF\xBF\xBF");
    assert_string("\"\\u0001\\u001f\\u007f\\u0080\\u07ff\\u0800\"",
                  "\x01\x1F\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80");
    assert_string("\"\\ud83d\\udc07\\uD800\\uDC00\\uDBFF\\uDFFF\"",
                  "\xF0\x9F\x90\x87\xF0\x90\x80\x80\xF4\x8F\xBF\xBF");
    assert_string("\"\\\\u0041 \\\\\"", "\\u0041 \\");
    assert_string("\"\x7F \xC3\xA9 \xE2\x80\xA8 \xF0\x9F\x90\x87\"",
                  "\x7F \xC3\xA9 \xE2\x80\xA8 \xF0\x9F\x90\x87");
    assert_string("\"\"", "");
}

struct refused {
    const char *text;
    const char *message;
};

static void assert_all_refused(const struct refused *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct hutch_value value = {0};
        struct hutch_error err;
        if (parse_bytes(cases[i].text, strlen(cases[i].text), &value, &err) >= 0)
            fail_msg("%s is taken", cases[i].text);
        assert_refused(parse_bytes(cases[i].text, strlen(cases[i].text), &value, &err), &err,
                       cases[i].message);
        assert_int_equal(value.type, HUTCH_VALUE_NULL);
    }
}

static void what_has_no_end_or_no_beginning_is_refused(void **state)
{
    static const struct refused cases[] = {
        {"", "line 1: the document ends where a value must be"},
        {" \n \n", "line 3: the document ends where a value must be"},
        {"[", "line 1: the document ends where a value must be"},
        {"[1", "line 1: the document ends where ',' or ']' must be"},
        {"[1,", "line 1: the document ends where a value must be"},
        {"{", "line 1: the document ends where a key in quotes must be"},
        {"{\"a\"", "line 1: the document ends where ':' must be"},
        {"{\"a\":", "line 1: the document ends where a value must be"},
        {"{\"a\":1", "line 1: the document ends where ',' or '}' must be"},
        {"{\"a\":1,", "line 1: the document ends where a key in quotes must be"},
        {"\"a", "line 1: the document ends inside a string"},
        {"\"a\\", "line 1: the document ends inside a string"},
        {"\"a\\\"", "line 1: the document ends inside a string"},
        {"{\n\"a", "line 2: the document ends inside a string"},
        {"-", "line 1: the document ends where a digit must be"},
        {"1.", "line 1: the document ends where a digit must be"},
        {"1e", "line 1: the document ends where a digit must be"},
        {"1e-", "line 1: the document ends where a digit must be"},
        {"tru", "line 1: 'tru' stands where a value must be"},
        {"]", "line 1: ']' stands where a value must be"},
        {"1 2", "line 1: '2' stands where the end of the document must be"},
        {"{}\n}", "line 2: '}' stands where the end of the document must be"},
        {"[] // no", "line 1: '/' stands where the end of the document must be"},
    };
    (void)state;
    assert_all_refused(cases, HUTCH_COUNT(cases));
}

static void what_only_looks_like_json_is_refused(void **state)
{
    static const struct refused cases[] = {
        {"[1,]", "line 1: ']' stands where a value must be"},
        {"[,1]", "line 1: ',' stands where a value must be"},
        {"[1 2]", "line 1: '2' stands where ',' or ']' must be"},
        {"[1}", "line 1: '}' stands where ',' or ']' must be"},
        {"{\"a\":1,}", "line 1: '}' stands where a key in quotes must be"},
        {"{\"a\" 1}", "line 1: '1' stands where ':' must be"},
        {"{\"a\":1 \"b\":2}", "line 1: '\"' stands where ',' or '}' must be"},
        {"{a: 1}", "line 1: 'a' stands where a key in quotes must be"},
        {"{'a': 1}", "line 1: ''' stands where a key in quotes must be"},
        {"{1: 1}", "line 1: '1' stands where a key in quotes must be"},
        {"/* */ 1", "line 1: '/' stands where a value must be"},
        {"True", "line 1: 'True' stands where a value must be"},
        {"nullx", "line 1: 'nullx' stands where a value must be"},
        {"[NaN]", "line 1: 'NaN' stands where a value must be"},
        {"[\n-Infinity]", "line 2: 'Infinity' stands where a digit must be"},
        {"\f1", "line 1: the byte 0x0c stands where a value must be"},
        {"\xC2\xA0"
         "1",
         "line 1: the byte 0xc2 stands where a value must be"},
        {"\xEF\xBB\xBF{}", "line 1: the document begins with a byte order mark, remove it"},
        {"[\"a\xEF\xBB\xBF\"]\xEF\xBB\xBF",
         "line 1: the byte 0xef stands where the end of the document must be"},
    };
    (void)state;
    assert_all_refused(cases, HUTCH_COUNT(cases));
}

static void numbers_that_json_does_not_know_are_refused(void **state)
{
    static const struct refused cases[] = {
        {"01", "line 1: '1' stands where the end of the document must be"},
        {"-01", "line 1: '1' stands where the end of the document must be"},
        {"+1", "line 1: '+' stands where a value must be"},
        {".5", "line 1: '.' stands where a value must be"},
        {"-.5", "line 1: '.' stands where a digit must be"},
        {"1.e3", "line 1: 'e3' stands where a digit must be"},
        {"1e+", "line 1: the document ends where a digit must be"},
        {"1e+-1", "line 1: '-' stands where a digit must be"},
        {"0x10", "line 1: 'x10' stands where the end of the document must be"},
        {"1_000", "line 1: '_000' stands where the end of the document must be"},
        {"1,5", "line 1: ',' stands where the end of the document must be"},
        {"9223372036854775808", "line 1: the number '9223372036854775808' is too large"},
        {"-9223372036854775809", "line 1: the number '-9223372036854775809' is too large"},
        {"1e309", "line 1: the number '1e309' is too large"},
        {"-1e999999999999999999999", "line 1: the number '-1e999999999999999999999' is too large"},
    };
    (void)state;
    assert_all_refused(cases, HUTCH_COUNT(cases));
}

static void strings_that_are_no_text_are_refused(void **state)
{
    static const char first[] = "line 1: '\\ud800' to '\\udbff' need one of '\\udc00' to '\\udfff' "
                                "after them to be a character";
    static const char second[] = "line 1: '\\udc00' to '\\udfff' need one of '\\ud800' to "
                                 "'\\udbff' before them to be a character";
    static const char digits[] = "line 1: '\\u' needs four hexadecimal digits after it";
    static const char nul[] = "line 1: a NUL byte cannot be part of a value";
    static const struct refused cases[] = {
        {"\"\\ud800\"", first},
        {"\"\\ud800\\n\"", first},
        {"\"\\ud800\\\"", "line 1: the document ends inside a string"},
        {"\"\\ud800\\ud800\"", first},
        {"\"\\ud800\\u0041\"", first},
        {"\"\\ud800\\u00\"", first},
        {"\"\\udc00\"", second},
        {"\"\\udc00\\ud800\"", second},
        {"\"\\u\"", digits},
        {"\"\\u00e\"", digits},
        {"\"\\u00g0\"", digits},
        {"\"\\u+123\"", digits},
        {"\"\\u0000\"", nul},
        {"\"a\\u0000b\"", nul},
        {"{\"a\\u0000\": 1}", nul},
        {"\"\\x41\"", "line 1: 'x41' stands where one of \"\\/bfnrtu after a '\\' must be"},
        {"\"\\'\"", "line 1: ''' stands where one of \"\\/bfnrtu after a '\\' must be"},
        {"\"\\U0041\"", "line 1: 'U0041' stands where one of \"\\/bfnrtu after a '\\' must be"},
        {"\"\\\n\"", "line 1: the byte 0x0a stands where one of \"\\/bfnrtu after a '\\' must be"},
        {"\"\\\xC3\xA9\"",
         "line 1: the byte 0xc3 stands where one of \"\\/bfnrtu after a '\\' must be"},
        {"\"\xFF\"", "line 1: a string is not UTF-8"},
        {"\"\xC3\"", "line 1: a string is not UTF-8"},
        {"\"\xC0\xAF\"", "line 1: a string is not UTF-8"},
        {"\"\xED\xA0\x80\"", "line 1: a string is not UTF-8"},
        {"\"\xF4\x90\x80\x80\"", "line 1: a string is not UTF-8"},
        {"{\n\"\xFF\": 1}", "line 2: a string is not UTF-8"},
    };
    (void)state;
    assert_all_refused(cases, HUTCH_COUNT(cases));
}

static void control_characters_must_be_escaped(void **state)
{
    (void)state;
    for (unsigned c = 0; c < ' '; c++) {
        struct hutch_value value = {0};
        struct hutch_error err;
        char text[] = {'"', 'a', (char)c, 'b', '"'};
        char message[120];
        (void)snprintf(message, sizeof(message),
                       "line 1: a string holds the control character 0x%02x, write it as "
                       "'\\u%04x', or end the string with '\"'",
                       c, c);
        assert_refused(parse_bytes(text, sizeof(text), &value, &err), &err, message);
    }
}

static void a_nul_byte_is_wrong_everywhere(void **state)
{
    struct hutch_value value = {0};
    struct hutch_error err;
    (void)state;
    assert_refused(parse_bytes("\0", 1, &value, &err), &err,
                   "line 1: the byte 0x00 stands where a value must be");
    assert_refused(parse_bytes("{}\0", 3, &value, &err), &err,
                   "line 1: the byte 0x00 stands where the end of the document must be");
    assert_refused(parse_bytes("[1\0]", 4, &value, &err), &err,
                   "line 1: the byte 0x00 stands where ',' or ']' must be");
    assert_refused(parse_bytes("\"\\\0\"", 4, &value, &err), &err,
                   "line 1: the byte 0x00 stands where one of \"\\/bfnrtu after a '\\' must be");
}

static void a_key_stands_once(void **state)
{
    static const struct refused cases[] = {
        {"{\"a\": 1, \"a\": 1}", "line 1: duplicate key 'a', leave one of them"},
        {"{\n\"a\": 1,\n\"b\": 2,\n\"a\": 3,\n\"b\": 4}",
         "line 4: duplicate key 'a', leave one of them"},
        {"{\n\"b\": 1,\n\"a\": 2,\n\"b\": 3,\n\"a\": 4,\n\"b\": 5}",
         "line 4: duplicate key 'b', leave one of them"},
        {"{\"\": 1, \"\": 1}", "line 1: duplicate key '', leave one of them"},
        {"{\"a\": 1, \"\\u0061\": 1}", "line 1: duplicate key 'a', leave one of them"},
        {"[{\"x\": {\"k\": null,\n\"k\": null}}]", "line 2: duplicate key 'k', leave one of them"},
    };
    (void)state;
    assert_all_refused(cases, HUTCH_COUNT(cases));
    struct hutch_value value = parse("{\"a\": {\"a\": 1, \"A\": 2}, \"aa\": [{\"a\": 1}]}");
    hutch_value_done(&value);
}

static void depth_is_bounded(void **state)
{
    static const char brackets[] = "[{";
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        struct hutch_value value = {0};
        struct hutch_error err;
        char text[8 * (HUTCH_DOCUMENT_MAX_DEPTH + 1)], *at = text;
        for (int i = 0; i < HUTCH_DOCUMENT_MAX_DEPTH; i++)
            at = stpcpy(at, brackets[kind] == '[' ? "[" : i ? "\"a\":{" : "{");
        char *inside = at;
        for (int i = 0; i < HUTCH_DOCUMENT_MAX_DEPTH; i++)
            at = stpcpy(at, brackets[kind] == '[' ? "]" : "}");
        assert_fine(parse_bytes(text, strlen(text), &value, &err), &err);
        hutch_value_done(&value);
        (void)stpcpy(inside, brackets[kind] == '[' ? "[" : "\"a\":{");
        assert_refused(parse_bytes(text, strlen(text), &value, &err), &err,
                       "line 1: the document is nested too deeply");
    }
}

/* As large as a document may be, of one kind of piece. Free it. */
static char *repeat(const char *head, const char *piece, size_t *ret_length)
{
    char *text = malloc(HUTCH_DOCUMENT_MAX_BYTES + 1);
    assert_non_null(text);
    char *at = stpcpy(text, head);
    while ((size_t)(at - text) + strlen(piece) <= HUTCH_DOCUMENT_MAX_BYTES)
        at = stpcpy(at, piece);
    *ret_length = (size_t)(at - text);
    return text;
}

/* Each of these takes a fraction of a second; a reader that looks back would take minutes. */
static void the_largest_documents_are_read_in_time(void **state)
{
    static const struct {
        const char *head, *piece;
    } cases[] = {
        {"", " "},
        {"", "\n"},
        {"[0", ",0"},
        {"[[]", ",[]"},
        {"[\"\"", ",\"\\\\\""},
        {"\"", "\\n"},
        {"\"", "a"},
        {"\"", "\xC3\xA9"},
        {"\"", "\\ud83d\\udc07"},
        {"[", "["},
        {"", "{\"a\":"},
        {"1", "0"},
        {"[{}", ",{\"a\":1,\"b\":2}"},
        {"{\"a\":0", ",\"a\":0"},
    };
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(cases); i++) {
        struct hutch_value value = {0};
        size_t length = 0;
        char *text = repeat(cases[i].head, cases[i].piece, &length);
        clock_t before = clock();
        int r = hutch_json_parse(text, length, &value, NULL);
        assert_true(clock() - before < 5 * CLOCKS_PER_SEC);
        assert_int_equal(r, -HUTCH_E_INVALID); /* none of them is whole */
        free(text);
    }
}

static void a_large_object_is_read_in_time(void **state)
{
    struct hutch_value value = {0};
    struct hutch_error err;
    size_t count = 250000;
    size_t room = count * 16;
    char *text = malloc(room), *at = text;
    (void)state;
    assert_non_null(text);
    at = stpcpy(at, "{");
    for (size_t i = 0; i < count; i++)
        at += snprintf(at, room - (size_t)(at - text), "%s\"%zu\":0", i ? ",\n" : "",
                       i * 7919 % count);
    (void)stpcpy(at, "}");
    clock_t before = clock();
    assert_fine(hutch_json_parse(text, strlen(text), &value, &err), &err);
    hutch_value_done(&value);
    (void)stpcpy(at, ",\n\"7919\":1}");
    assert_refused(hutch_json_parse(text, strlen(text), &value, &err), &err,
                   "line 250001: duplicate key '7919', leave one of them");
    assert_true(clock() - before < 10 * CLOCKS_PER_SEC);
    free(text);
}

static void size_is_bounded(void **state)
{
    struct hutch_value value = {0};
    struct hutch_error err;
    size_t length = 0;
    char *text = repeat("7", " ", &length);
    (void)state;
    assert_fine(hutch_json_parse(text, length, &value, &err), &err);
    assert_refused(hutch_json_parse(text, length + 1, &value, &err), &err,
                   "the document has 4194305 bytes, the most is 4194304");
    free(text);
}

static void a_number_has_a_bounded_length(void **state)
{
    struct hutch_value value = {0};
    struct hutch_error err;
    char text[129] = "0.";
    (void)state;
    memset(text + 2, '1', 126);
    assert_fine(parse_bytes(text, 127, &value, &err), &err);
    assert_true(value.number > 0.11 && value.number < 0.12);
    assert_refused(parse_bytes(text, 128, &value, &err), &err,
                   "line 1: a number has more than 127 characters, write fewer digits");
}

static void nothing_at_all_may_be_null(void **state)
{
    struct hutch_value value = {0};
    struct hutch_error err;
    (void)state;
    assert_refused(hutch_json_parse(NULL, 0, &value, &err), &err,
                   "line 1: the document ends where a value must be");
    assert_int_equal(hutch_json_parse("x", 1, &value, NULL), -HUTCH_E_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_value_may_be_a_document),
        cmocka_unit_test(a_tree_keeps_order_keys_and_lines),
        cmocka_unit_test(integers_are_exact),
        cmocka_unit_test(numbers_are_the_nearest_double),
        cmocka_unit_test(the_locale_has_no_say),
        cmocka_unit_test(every_escape_is_undone),
        cmocka_unit_test(what_has_no_end_or_no_beginning_is_refused),
        cmocka_unit_test(what_only_looks_like_json_is_refused),
        cmocka_unit_test(numbers_that_json_does_not_know_are_refused),
        cmocka_unit_test(strings_that_are_no_text_are_refused),
        cmocka_unit_test(control_characters_must_be_escaped),
        cmocka_unit_test(a_nul_byte_is_wrong_everywhere),
        cmocka_unit_test(a_key_stands_once),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(the_largest_documents_are_read_in_time),
        cmocka_unit_test(a_large_object_is_read_in_time),
        cmocka_unit_test(size_is_bounded),
        cmocka_unit_test(a_number_has_a_bounded_length),
        cmocka_unit_test(nothing_at_all_may_be_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
