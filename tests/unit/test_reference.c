/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "image/reference.h"
#include "util/own.h"

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define DIGEST "sha256:" HEX
#define TEN "abcdefghij"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

static void names_mean_what_people_expect(void **state)
{
    static const struct {
        const char *text;
        const char *whole;
        const char *brief;
    } cases[] = {
        {"python", "docker.io/library/python:latest", "python:latest"},
        {"python:3.11-slim", "docker.io/library/python:3.11-slim", "python:3.11-slim"},
        {"user/tool", "docker.io/user/tool:latest", "user/tool:latest"},
        {"library/python", "docker.io/library/python:latest", "python:latest"},
        {"docker.io/python:3", "docker.io/library/python:3", "python:3"},
        {"index.docker.io/python:3", "docker.io/library/python:3", "python:3"},
        {"docker.io/a.b/c", "docker.io/a.b/c:latest", "docker.io/a.b/c:latest"},
        {"docker.io/localhost/c", "docker.io/localhost/c:latest", "docker.io/localhost/c:latest"},
        {"library/a/b", "docker.io/library/a/b:latest", "library/a/b:latest"},
        {"localhost", "docker.io/library/localhost:latest", "localhost:latest"},
        {"localhost:5000", "docker.io/library/localhost:5000", "localhost:5000"},
        {"localhost/z", "localhost/z:latest", "localhost/z:latest"},
        {"localhost:5000/z", "localhost:5000/z:latest", "localhost:5000/z:latest"},
        {"localhost:5000/z:1", "localhost:5000/z:1", "localhost:5000/z:1"},
        {"127.0.0.1:5000/a/b/c:V_1.2-x", "127.0.0.1:5000/a/b/c:V_1.2-x",
         "127.0.0.1:5000/a/b/c:V_1.2-x"},
        {"[::1]:5000/z", "[::1]:5000/z:latest", "[::1]:5000/z:latest"},
        {"ghcr.io/x/y@" DIGEST, "ghcr.io/x/y@" DIGEST, "ghcr.io/x/y@" DIGEST},
        {"python:3@" DIGEST, "docker.io/library/python@" DIGEST, "python:3@" DIGEST},
        {"a.b/c__d/e--f/g.h_i", "a.b/c__d/e--f/g.h_i:latest", "a.b/c__d/e--f/g.h_i:latest"},
        {HEX ":1", "docker.io/library/" HEX ":1", HEX ":1"},
        {"x/" HEX, "docker.io/x/" HEX ":latest", "x/" HEX ":latest"},
    };
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(cases); i++) {
        struct image_reference reference, again;
        struct hutch_error err;
        char text[IMAGE_REFERENCE_BYTES];
        assert_fine(image_reference_parse(cases[i].text, &reference, &err), &err);
        image_reference_format(&reference, text);
        assert_string_equal(text, cases[i].whole);
        image_reference_format_short(&reference, text);
        assert_string_equal(text, cases[i].brief);
        assert_fine(image_reference_parse(text, &again, &err), &err);
        assert_memory_equal(&reference, &again, sizeof(reference));
    }
}

static void what_is_no_name_is_refused(void **state)
{
    static const struct {
        const char *text;
    } cases[] = {
        {""},
        {"/"},
        {":"},
        {"@"},
        {":latest"},
        {"Python"},
        {"python:"},
        {"python:-1"},
        {"python:.1"},
        {"python:a/b:c:d"},
        {"python:1:2"},
        {"python@"},
        {"python@sha256:abc"},
        {"python@sha512:0123456789abcdef"},
        {"python@SHA256:" HEX},
        {"python@sha256:" HEX "0"},
        {"python@" DIGEST "@" DIGEST},
        {"python@" DIGEST ":1"},
        {HEX},
        {DIGEST},
        {" python"},
        {"python "},
        {"py thon"},
        {"python\n"},
        {"pyth\xc3\xb6n"},
        {"-python"},
        {"python-"},
        {"py___thon"},
        {"py..thon"},
        {"py._thon"},
        {"a//b"},
        {"/a"},
        {"a/"},
        {"../a"},
        {"a/../b"},
        {"a.b/.."},
        {"./a"},
        {"http://a.b/c"},
        {"Localhost:5000/z"},
        {"GHCR.io/x"},
        {"localhost:0/z"},
        {"localhost:65536/z"},
        {"localhost:/z"},
        {"localhost:5a/z"},
        {"a..b/c"},
        {"-a.b/c"},
        {"a-.b/c"},
        {".a/c"},
        {"user@host.x/c"},
        {"[::1/z"},
        {"[::g]:5/z"},
        {"[]:5/z"},
        {"[1:2]:5/z"},
        {"a:" HUNDRED TEN TEN "123456789"},
        {HUNDRED HUNDRED "/" HUNDRED},
        {"a.b/" HUNDRED HUNDRED TEN TEN TEN TEN TEN "12"},
        {HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED},
    };
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(cases); i++) {
        struct image_reference reference = {.tag = "untouched"};
        struct hutch_error err = HUTCH_ERROR_INIT;
        if (image_reference_parse(cases[i].text, &reference, &err) != -HUTCH_E_INVALID)
            fail_msg("'%s' is taken as '%s' '%s' '%s'", cases[i].text, reference.registry,
                     reference.repository, reference.tag);
        assert_non_null(strstr(err.msg, "write it like 'python:3.11-slim'"));
        assert_string_equal(reference.tag, "untouched");
    }
}

static void the_longest_names_fit(void **state)
{
    struct image_reference reference;
    struct hutch_error err;
    char text[IMAGE_REFERENCE_BYTES];
    static const char longest[] =
        "a.b/" HUNDRED HUNDRED TEN TEN TEN TEN TEN "1:" HUNDRED TEN TEN "12345678@" DIGEST;
    (void)state;
    assert_fine(image_reference_parse(longest, &reference, &err), &err);
    image_reference_format_short(&reference, text);
    assert_string_equal(text, longest);
    assert_int_equal(strlen(reference.tag), 128);
    assert_int_equal(strlen(reference.registry) + 1 + strlen(reference.repository), 255);
}

static void a_refusal_says_which_part_is_wrong(void **state)
{
    struct image_reference reference;
    struct hutch_error err;
    (void)state;
    assert_refused(image_reference_parse("python:", &reference, &err), &err,
                   "'python:' is not the name of an image, a tag has 1 to 128 of a-z A-Z 0-9 _ . - "
                   "and begins with none of the last two; write it like 'python:3.11-slim' or "
                   "'ghcr.io/user/tool:1.0'");
    assert_refused(image_reference_parse("a.b:x/c", &reference, &err), &err,
                   "'a.b:x/c' is not the name of an image, a registry is a host in lower case with "
                   "or without a port; write it like 'python:3.11-slim' or "
                   "'ghcr.io/user/tool:1.0'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_mean_what_people_expect),
        cmocka_unit_test(what_is_no_name_is_refused),
        cmocka_unit_test(the_longest_names_fit),
        cmocka_unit_test(a_refusal_says_which_part_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
