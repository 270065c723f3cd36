/* SPDX-License-Identifier: Apache-2.0 */
/* What a .dockerignore leaves out, by rows of lines and paths. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "image/ignore.h"
#include "util/own.h"

static bool excludes(const char *text, const char *path)
{
    struct ignore ignore = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    assert_int_equal(ignore_parse(text, &ignore, &err), 0);
    bool excluded = ignore_excludes(&ignore, path);
    ignore_done(&ignore);
    return excluded;
}

static void the_last_line_that_matches_decides(void **state)
{
    static const struct {
        const char *text;
        const char *path;
        bool excluded;
    } rows[] = {
        {"", "a", false},
        {"a", "a", true},
        {"a", "ab", false},
        {"a", "b/a", false},
        {"a", "a/b/c", true},
        {"/a/", "a/b", true},
        {"./x/../a//b/.", "a/b", true},
        {"../a", "a", false},
        {"/../a", "a", true},
        {"/b/../../a", "a", true},
        {"b/../../a", "a", false},
        {".", "a", false},
        {"/", "a", false},
        {"  a  ", "a", true},
        {"# a\na #", "a", false},
        {"a #", "a #", true},
        {"\xef\xbb\xbf"
         "a",
         "a", true},
        {"a\r\nb\r\n", "b", true},
        {"*", "a", true},
        {"*", "a/b", true},
        {"*.md", "README.md", true},
        {"*.md", "docs/README.md", false},
        {"*/*.md", "docs/README.md", true},
        {"*/*.md", "docs/more/README.md", false},
        {"**/*.md", "README.md", true},
        {"**/*.md", "docs/more/README.md", true},
        {"docs/**", "docs", false},
        {"docs/**", "docs/a/b", true},
        {"a/**/b", "a/b", true},
        {"a/**/b", "a/x/y/b/c", true},
        {"a/**/b", "a/xb", false},
        {"a?c", "abc", true},
        {"a?c", "a/c", false},
        {"a?c",
         "a\xc3\xa9"
         "c",
         true},
        {"a[b-d]e", "ace", true},
        {"a[^b-d]e", "ace", false},
        {"a[^b-d]e", "a/e", false},
        {"a\\*", "a*", true},
        {"a\\*", "ab", false},
        {"a.b", "axb", false},
        {"*\n!a", "a", false},
        {"*\n!a", "a/b", false},
        {"*\n!a\na/b", "a/b/c", true},
        {"*\n!a/b", "a/c", true},
        {"*\n! a", "a", false},
        {"!a\n*", "a", true},
        {"**", "a/b", true},
        {"*a*a*a*a*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
         false},
    };
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(rows); i++)
        if (excludes(rows[i].text, rows[i].path) != rows[i].excluded)
            fail_msg("'%s' with '%s'", rows[i].text, rows[i].path);
}

static void directories_that_may_hold_an_exception_are_told(void **state)
{
    struct ignore ignore = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    (void)state;
    assert_int_equal(ignore_parse("a\nb\n!a/deep/file\n!**/c", &ignore, &err), 0);
    assert_true(ignore_may_hold(&ignore, "a"));
    assert_true(ignore_may_hold(&ignore, "a/deep"));
    assert_false(ignore_may_hold(&ignore, "a/dee"));
    assert_false(ignore_may_hold(&ignore, "b"));
    ignore_done(&ignore);
}

static void lines_that_are_no_patterns_are_told_by_number_alone(void **state)
{
    static const char *const wrong[] = {"a\n[secret", "a\n[]secret", "a\n[b-a]secret",
                                        "a\n!",       "a\n!  ",      "a\nsecret\\"};
    char longest[5002];
    struct ignore ignore = {0};
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(wrong); i++) {
        struct hutch_error err = HUTCH_ERROR_INIT;
        assert_int_equal(ignore_parse(wrong[i], &ignore, &err), -HUTCH_E_INVALID);
        assert_non_null(strstr(err.msg, "line 2 "));
        assert_null(strstr(err.msg, "secret"));
    }
    memset(longest, 'a', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    struct hutch_error err = HUTCH_ERROR_INIT;
    assert_int_equal(ignore_parse(longest, &ignore, &err), -HUTCH_E_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_line_that_matches_decides),
        cmocka_unit_test(directories_that_may_hold_an_exception_are_told),
        cmocka_unit_test(lines_that_are_no_patterns_are_told_by_number_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
