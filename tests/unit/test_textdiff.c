/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "../fuzz/patch.h"
#include "store/lines.h"
#include "store/textdiff.h"
#include "util/own.h"

#define MANY_LINES 1000000u
#define OUTPUT_CEILING ((size_t)128 << 20)

static struct hutch_textdiff_side text_of(const char *text)
{
    return (struct hutch_textdiff_side){
        .mode = S_IFREG | 0644, .data = text, .length = strlen(text)};
}

static struct hutch_textdiff_side link_to(const char *target)
{
    return (struct hutch_textdiff_side){
        .mode = S_IFLNK | 0777, .data = target, .length = strlen(target)};
}

static const struct hutch_textdiff_side nothing = {.data = ""};

static void assert_diff(const char *path, struct hutch_textdiff_side before,
                        struct hutch_textdiff_side after, const char *expected)
{
    hutch_cleanup(hutch_buf_done) struct hutch_buf out = HUTCH_BUF(OUTPUT_CEILING);
    struct hutch_error err;
    assert_fine(hutch_textdiff(path, &before, &after, &out, &err), &err);
    assert_string_equal(out.data ? out.data : "", expected);
}

/* ---- form ---- */

static void equal_texts_have_no_difference(void **state)
{
    (void)state;
    assert_diff("f", text_of("a\n"), text_of("a\n"), "");
    struct hutch_textdiff_side private = text_of("a\n");
    private.mode = S_IFREG | 0600; /* git knows only whether the owner may execute */
    assert_diff("f", text_of("a\n"), private, "");
}

static void hunks_have_three_lines_of_context_and_are_joined_when_they_meet(void **state)
{
    (void)state;
    assert_diff("f", text_of("1\n2\n3\n4\n5\n6\n7\n8\n9\n"), text_of("1\n2\n3\n4\nX\n6\n7\n8\n9\n"),
                "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -2,7 +2,7 @@\n"
                " 2\n 3\n 4\n-5\n+X\n 6\n 7\n 8\n");
    assert_diff("f", text_of("a\n1\n2\n3\n4\n5\n6\nb\n"), text_of("1\n2\n3\n4\n5\n6\n"),
                "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,8 +1,6 @@\n"
                "-a\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n");
    assert_diff("f", text_of("a\n1\n2\n3\n4\n5\n6\n7\nb\n"), text_of("1\n2\n3\n4\n5\n6\n7\n"),
                "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,4 +1,3 @@\n-a\n 1\n 2\n 3\n"
                "@@ -6,4 +5,3 @@\n 5\n 6\n 7\n-b\n");
}

static void files_appear_and_disappear(void **state)
{
    (void)state;
    struct hutch_textdiff_side program = text_of("x\n");
    program.mode = S_IFREG | 0755;
    assert_diff("f", nothing, text_of("a\nb\n"),
                "diff --git a/f b/f\nnew file mode 100644\n--- /dev/null\n+++ b/f\n"
                "@@ -0,0 +1,2 @@\n+a\n+b\n");
    assert_diff("f", program, nothing,
                "diff --git a/f b/f\ndeleted file mode 100755\n--- a/f\n+++ /dev/null\n"
                "@@ -1 +0,0 @@\n-x\n");
    assert_diff("f", nothing, text_of(""), "diff --git a/f b/f\nnew file mode 100644\n");
    assert_diff("a b", nothing, text_of(""),
                "diff --git \"a/a b\" \"b/a b\"\nnew file mode 100644\n");
    assert_diff("f", text_of("x\n"), program,
                "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n");
}

static void a_missing_newline_is_said(void **state)
{
    (void)state;
    assert_diff("f", text_of("a\nb"), text_of("a\nb\n"),
                "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n"
                "\\ No newline at end of file\n+b\n");
    assert_diff("f", text_of("a\nb"), text_of("c\nb"),
                "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+c\n b\n"
                "\\ No newline at end of file\n");
}

static void links_are_files_of_their_own_mode(void **state)
{
    (void)state;
    assert_diff("l", nothing, link_to("x"),
                "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n"
                "@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n");
    assert_diff("l", text_of("t\n"), link_to("x"),
                "diff --git a/l b/l\ndeleted file mode 100644\n--- a/l\n+++ /dev/null\n"
                "@@ -1 +0,0 @@\n-t\n"
                "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n"
                "@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n");
}

static void binary_and_large_files_only_differ(void **state)
{
    (void)state;
    struct hutch_textdiff_side binary = {.mode = S_IFREG | 0644, .data = "a\0b", .length = 3};
    struct hutch_textdiff_side large = {.mode = S_IFREG | 0644, .unread = true};
    assert_diff("f", text_of("a\n"), binary,
                "diff --git a/f b/f\nBinary files a/f and b/f differ\n");
    assert_diff("f", large, large, "diff --git a/f b/f\nBinary files a/f and b/f differ\n");
    assert_diff(
        "f", nothing, binary,
        "diff --git a/f b/f\nnew file mode 100644\nBinary files /dev/null and b/f differ\n");
    assert_diff("f", binary, binary, "");
}

static void odd_names_are_quoted_as_git_does(void **state)
{
    (void)state;
    assert_diff("t\tn\n\"\\\001\303\244", text_of("a\n"), text_of("b\n"),
                "diff --git \"a/t\\tn\\n\\\"\\\\\\001\\303\\244\" "
                "\"b/t\\tn\\n\\\"\\\\\\001\\303\\244\"\n"
                "--- \"a/t\\tn\\n\\\"\\\\\\001\\303\\244\"\n"
                "+++ \"b/t\\tn\\n\\\"\\\\\\001\\303\\244\"\n@@ -1 +1 @@\n-a\n+b\n");
    assert_diff("a b", text_of("a\n"), text_of("b\n"),
                "diff --git a/a b b/a b\n--- a/a b\t\n+++ b/a b\t\n@@ -1 +1 @@\n-a\n+b\n");
}

/* ---- content ---- */

static size_t least_changes(const char *old, size_t olds, const char *new, size_t news)
{
    size_t longest[32][32] = {{0}};
    assert_true(olds < 32 && news < 32);
    for (size_t i = 1; i <= olds; i++)
        for (size_t j = 1; j <= news; j++) {
            size_t up = longest[i - 1][j], left = longest[i][j - 1];
            longest[i][j] = up > left ? up : left;
            if (old[i - 1] == new[j - 1])
                longest[i][j] = longest[i - 1][j - 1] + 1;
        }
    return olds + news - 2 * longest[olds][news];
}

/* Returns how many lines the difference of two texts changes, after it gave the second. */
static size_t round_trip(const char *old, size_t old_length, const char *new, size_t new_length)
{
    hutch_cleanup(hutch_buf_done) struct hutch_buf diff = HUTCH_BUF(OUTPUT_CEILING);
    hutch_cleanup(hutch_buf_done) struct hutch_buf patched = HUTCH_BUF(OUTPUT_CEILING);
    struct hutch_textdiff_side before = {.mode = S_IFREG | 0644, .data = old, .length = old_length};
    struct hutch_textdiff_side after = {.mode = S_IFREG | 0644, .data = new, .length = new_length};
    struct hutch_error err;
    size_t changed = 0;
    assert_fine(hutch_textdiff("f", &before, &after, &diff, &err), &err);
    assert_true(
        patch_apply(diff.data ? diff.data : "", diff.length, old, old_length, &patched, &changed));
    assert_int_equal(patched.length, new_length);
    assert_true(!new_length || memcmp(patched.data, new, new_length) == 0);
    return changed;
}

/* A fixed sequence that looks random. */
static unsigned draw(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 16;
}

static size_t draw_letters(uint32_t *seed, char *letters, unsigned kinds)
{
    size_t count = draw(seed) % 31;
    for (size_t i = 0; i < count; i++)
        letters[i] = (char)('a' + draw(seed) % kinds);
    return count;
}

static size_t as_lines(const char *letters, size_t count, char *text)
{
    for (size_t i = 0; i < count; i++) {
        text[2 * i] = letters[i];
        text[2 * i + 1] = '\n';
    }
    return 2 * count;
}

static void small_differences_are_right_and_the_smallest(void **state)
{
    uint32_t seed = 1;
    (void)state;
    for (unsigned turn = 0; turn < 20000; turn++) {
        char old[32], new[32], old_text[64], new_text[64];
        unsigned kinds = 1 + turn % 6;
        size_t olds = draw_letters(&seed, old, kinds), news = draw_letters(&seed, new, kinds);
        size_t changed = round_trip(old_text, as_lines(old, olds, old_text), new_text,
                                    as_lines(new, news, new_text));
        assert_int_equal(changed, least_changes(old, olds, new, news));
    }
}

/* ---- time ---- */

static char *many_lines(const char *prefix, unsigned kinds, uint32_t seed, size_t *ret_length)
{
    char *text = malloc((size_t)MANY_LINES * 16);
    size_t length = 0;
    assert_non_null(text);
    for (unsigned i = 0; i < MANY_LINES; i++) {
        unsigned number = kinds ? draw(&seed) % kinds : i;
        length += (size_t)snprintf(text + length, 16, "%s%08u\n", prefix, number);
    }
    *ret_length = length;
    return text;
}

static bool under_sanitizer(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return true;
#else
    return false;
#endif
}

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void assert_quick(const char *what, const char *old_prefix, const char *new_prefix,
                         unsigned kinds)
{
    size_t old_length, new_length;
    hutch_autofree char *old = many_lines(old_prefix, kinds, 1, &old_length);
    hutch_autofree char *new = many_lines(new_prefix, kinds, 2, &new_length);
    double started = now();
    (void)round_trip(old, old_length, new, new_length);
    double took = now() - started;
    print_message("%s: %.2f s\n", what, took);
    assert_true(took < (under_sanitizer() ? 30 : 2));
}

static void a_million_lines_take_a_moment_whatever_they_are(void **state)
{
    (void)state;
    assert_quick("nothing in common", "a", "b", 0);
    assert_quick("two lines, at random", "", "", 2);
    assert_quick("a hundred lines, at random", "", "", 100);
    assert_quick("sixty thousand lines, at random", "", "", 65536);
    assert_quick("the same", "", "", 0);
}

static void lines_beyond_counting_are_one_difference(void **state)
{
    size_t length = (size_t)12 << 20;
    (void)state;
    hutch_autofree char *old = malloc(length);
    hutch_autofree char *new = malloc(length);
    assert_non_null(old);
    assert_non_null(new);
    for (size_t i = 0; i < length; i++) {
        old[i] = i % 2 ? '\n' : 'a';
        new[i] = (char)(i % 2 ? '\n' : 'a' + (i / 2 % 2 == 0));
    }
    (void)round_trip(old, length, new, length);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_texts_have_no_difference),
        cmocka_unit_test(hunks_have_three_lines_of_context_and_are_joined_when_they_meet),
        cmocka_unit_test(files_appear_and_disappear),
        cmocka_unit_test(a_missing_newline_is_said),
        cmocka_unit_test(links_are_files_of_their_own_mode),
        cmocka_unit_test(binary_and_large_files_only_differ),
        cmocka_unit_test(odd_names_are_quoted_as_git_does),
        cmocka_unit_test(small_differences_are_right_and_the_smallest),
        cmocka_unit_test(a_million_lines_take_a_moment_whatever_they_are),
        cmocka_unit_test(lines_beyond_counting_are_one_difference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
