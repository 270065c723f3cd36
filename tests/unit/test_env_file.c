/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "core/env_file.h"

static void parse(const char *text, struct hutch_map *map)
{
    struct hutch_error err;
    assert_fine(hutch_env_file_parse(text, strlen(text), map, &err), &err);
}

static void lines_become_entries(void **state)
{
    struct hutch_map map = {0};
    (void)state;
    parse("# a comment\n"
          "\n"
          "  \t\n"
          "A=1\n"
          "  B=two words \r\n"
          "export C=3\n"
          "export\t D=4\n"
          "   # indented comment\n"
          "EMPTY=\n"
          "URL=http://h/?a=b#c\n"
          "export=itself\n"
          "LAST=no newline",
          &map);
    assert_int_equal(map.count, 8);
    assert_string_equal(hutch_map_get(&map, "A"), "1");
    assert_string_equal(hutch_map_get(&map, "B"), "two words ");
    assert_string_equal(hutch_map_get(&map, "C"), "3");
    assert_string_equal(hutch_map_get(&map, "D"), "4");
    assert_string_equal(hutch_map_get(&map, "EMPTY"), "");
    assert_string_equal(hutch_map_get(&map, "URL"), "http://h/?a=b#c");
    assert_string_equal(hutch_map_get(&map, "export"), "itself");
    assert_string_equal(hutch_map_get(&map, "LAST"), "no newline");
    hutch_map_done(&map);
}

static void values_are_literal_but_for_one_pair_of_quotes(void **state)
{
    struct hutch_map map = {0};
    (void)state;
    parse("A=\"$HOME \\n\"\n"
          "B='it''s'\n"
          "C=\"open\n"
          "D=\"\n"
          "E=''\n"
          "F=\"a'\n"
          "G=\"\"twice\"\"\n"
          "H= spaced\n"
          "I=\"quoted\" # not a comment\n",
          &map);
    assert_string_equal(hutch_map_get(&map, "A"), "$HOME \\n");
    assert_string_equal(hutch_map_get(&map, "B"), "it''s");
    assert_string_equal(hutch_map_get(&map, "C"), "\"open");
    assert_string_equal(hutch_map_get(&map, "D"), "\"");
    assert_string_equal(hutch_map_get(&map, "E"), "");
    assert_string_equal(hutch_map_get(&map, "F"), "\"a'");
    assert_string_equal(hutch_map_get(&map, "G"), "\"twice\"");
    assert_string_equal(hutch_map_get(&map, "H"), " spaced");
    assert_string_equal(hutch_map_get(&map, "I"), "\"quoted\" # not a comment");
    hutch_map_done(&map);
}

static void later_lines_and_files_win(void **state)
{
    struct hutch_map map = {0};
    (void)state;
    parse("A=1\nA=2\nB=1\n", &map);
    parse("B=2\n", &map);
    assert_string_equal(hutch_map_get(&map, "A"), "2");
    assert_string_equal(hutch_map_get(&map, "B"), "2");
    hutch_map_done(&map);
}

static void a_byte_order_mark_is_not_part_of_a_name(void **state)
{
    struct hutch_map map = {0};
    (void)state;
    parse("\xEF\xBB\xBF"
          "A=1",
          &map);
    assert_string_equal(hutch_map_get(&map, "A"), "1");
    hutch_map_done(&map);
}

static void bad_lines_are_named(void **state)
{
    static const struct {
        const char *text;
        size_t length;
        const char *message;
    } cases[] = {
        {"A=1\n\nFOO\n", 9, "line 3: 'FOO' has no '=', write it like 'KEY=value'"},
        {"export FOO", 10, "line 1: 'FOO' has no '=', write it like 'KEY=value'"},
        {"=x", 2,
         "line 1: '=x' has no name, or a space in it, before its '=', write it like 'KEY=value'"},
        {"A =1", 4,
         "line 1: 'A =1' has no name, or a space in it, before its '=', write it like "
         "'KEY=value'"},
        {"#\nA=\0", 5, "line 2: a NUL byte cannot be part of a variable"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hutch_map map = {0};
        struct hutch_error err;
        assert_refused(hutch_env_file_parse(cases[i].text, cases[i].length, &map, &err), &err,
                       cases[i].message);
        hutch_map_done(&map);
    }
}

static void a_file_beyond_the_cap_is_refused(void **state)
{
    struct hutch_map map = {0};
    struct hutch_error err;
    size_t length = HUTCH_ENV_FILE_MAX_BYTES + 1;
    char *text = malloc(length);
    (void)state;
    assert_non_null(text);
    memset(text, '\n', length);
    assert_fine(hutch_env_file_parse(text, length - 1, &map, &err), &err);
    assert_refused(hutch_env_file_parse(text, length, &map, &err), &err,
                   "the environment file has 1048577 bytes, the most is 1048576");
    free(text);
    hutch_map_done(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_become_entries),
        cmocka_unit_test(values_are_literal_but_for_one_pair_of_quotes),
        cmocka_unit_test(later_lines_and_files_win),
        cmocka_unit_test(a_byte_order_mark_is_not_part_of_a_name),
        cmocka_unit_test(bad_lines_are_named),
        cmocka_unit_test(a_file_beyond_the_cap_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
