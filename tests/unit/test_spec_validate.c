/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdio.h>

#include "core/spec.h"

static int setup(void **state)
{
    struct hutch_spec *spec = NULL;
    struct hutch_error err;
    if (hutch_spec_new(&spec, &err) < 0 || hutch_spec_set(spec, "command", "true", &err) < 0)
        return -1;
    *state = spec;
    return 0;
}

static int teardown(void **state)
{
    hutch_spec_free(*state);
    return 0;
}

static void set(struct hutch_spec *spec, const char *field, const char *text)
{
    struct hutch_error err;
    assert_fine(hutch_spec_set(spec, field, text, &err), &err);
}

static void a_command_is_enough(void **state)
{
    struct hutch_error err;
    assert_fine(hutch_spec_validate(*state, &err), &err);
}

static void a_command_must_be_there(void **state)
{
    static const char *const empty[] = {"", "x"};
    struct hutch_spec *spec = *state;
    struct hutch_error err;
    assert_fine(hutch_spec_set_command(spec, 2, empty, &err), &err);
    assert_refused(hutch_spec_validate(spec, &err), &err,
                   "the command '' is empty, its first word must be a program such as 'sh'");
    assert_fine(hutch_spec_set_command(spec, 0, NULL, &err), &err);
    assert_refused(hutch_spec_validate(spec, &err), &err,
                   "there is no command to run, give one such as 'sh -c \"echo hello\"'");
}

static void an_image_may_bring_the_command(void **state)
{
    const char *const empty[] = {"", NULL};
    struct hutch_spec *spec = *state;
    struct hutch_error err;
    assert_fine(hutch_spec_set_command(spec, 0, NULL, &err), &err);
    set(spec, "image", "python:3.11");
    assert_fine(hutch_spec_validate(spec, &err), &err);
    assert_fine(hutch_spec_set_command(spec, 1, empty, &err), &err);
    assert_fine(hutch_spec_validate(spec, &err), &err);
    set(spec, "rootfs", "/r");
    assert_refused(hutch_spec_validate(spec, &err), &err,
                   "image 'python:3.11' and rootfs '/r' are both given and exclude each other, "
                   "leave one of them");
}

static void what_is_about_images_needs_one(void **state)
{
    struct hutch_spec *spec = *state;
    struct hutch_error err;
    set(spec, "pull", "missing");
    assert_fine(hutch_spec_validate(spec, &err), &err);
    set(spec, "pull", "always");
    assert_refused(hutch_spec_validate(spec, &err), &err,
                   "pull is about an image and there is none, give one such as 'python:3.11'");
    set(spec, "entrypoint", "");
    assert_refused(
        hutch_spec_validate(spec, &err), &err,
        "entrypoint is about an image and there is none, give one such as 'python:3.11'");
}

static void distinct_targets_are_fine(void **state)
{
    struct hutch_spec *spec = *state;
    struct hutch_error err;
    set(spec, "workspace", ".");
    set(spec, "artifacts", "out");
    set(spec, "mounts", "/a:/data");
    set(spec, "mounts", "/a:/data/below");
    set(spec, "mounts", "/a:/workspace/cache");
    set(spec, "mounts", "/a:/device");
    set(spec, "tmpfs", "/tmp");
    assert_fine(hutch_spec_validate(spec, &err), &err);
}

static void targets_that_cannot_be_are_refused(void **state)
{
    static const char not_normal[] =
        "is not an absolute path without '.', '..' and '//', write it like '/data'";
    static const char *const cases[][2] = {
        {"/a/../b", not_normal},
        {"/./b", not_normal},
        {"/a//b", not_normal},
        {"/..", not_normal},
        {"/", "target '/' is the sandbox's root, choose a directory below it or use rootfs"},
        {"/proc", "lies in /proc, which hutch sets up itself"},
        {"/proc/sys/kernel", "lies in /proc, which hutch sets up itself"},
        {"/dev/", "lies in /dev, which hutch sets up itself"},
        {"/dev/shm", "lies in /dev, which hutch sets up itself"},
        {"/sys", "lies in /sys, which hutch sets up itself"},
        {"/sys/fs/cgroup", "lies in /sys, which hutch sets up itself"},
    };
    (void)state;
    for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
        struct hutch_error err = HUTCH_ERROR_INIT;
        struct hutch_spec *spec = NULL;
        const char *const *row = cases[i / 2];
        char text[64];
        (void)snprintf(text, sizeof(text), "/source:%s", row[0]);
        assert_fine(hutch_spec_new(&spec, &err), &err);
        set(spec, "command", "true");
        if (i % 2)
            set(spec, "tmpfs", row[0]);
        else
            set(spec, "mounts", text);
        assert_int_equal(hutch_spec_validate(spec, &err), -HUTCH_E_INVALID);
        if (!strstr(err.msg, row[1]))
            fail_msg("'%s' is refused with '%s'", row[0], err.msg);
        hutch_spec_free(spec);
    }
}

static void a_target_from_a_document_must_be_absolute_too(void **state)
{
    static const char text[] = "{\"mounts\": [{\"source\": \"/a\", \"target\": \"b\"}]}";
    struct hutch_error err;
    assert_fine(hutch_spec_parse(*state, text, sizeof(text) - 1, HUTCH_FORMAT_JSON, &err), &err);
    assert_refused(hutch_spec_validate(*state, &err), &err,
                   "target 'b' is not an absolute path without '.', '..' and '//', write it like "
                   "'/data'");
}

static void a_target_is_given_once(void **state)
{
    static const char *const pairs[][4] = {
        {"mounts", "/a:/data", "mounts", "/b:/data/"},
        {"mounts", "/a:/data", "tmpfs", "/data"},
        {"tmpfs", "/data", "tmpfs", "/data:1m"},
        {"mounts", "/a:/workspace", "workspace", "."},
        {"tmpfs", "/workspace", "workspace", "."},
        {"mounts", "/a:/artifacts", "artifacts", "out"},
        {"tmpfs", "/artifacts", "artifacts", "out"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        struct hutch_error err = HUTCH_ERROR_INIT;
        struct hutch_spec *spec = NULL;
        assert_fine(hutch_spec_new(&spec, &err), &err);
        set(spec, "command", "true");
        set(spec, pairs[i][0], pairs[i][1]);
        assert_fine(hutch_spec_validate(spec, &err), &err);
        set(spec, pairs[i][2], pairs[i][3]);
        assert_int_equal(hutch_spec_validate(spec, &err), -HUTCH_E_INVALID);
        assert_non_null(strstr(err.msg, "is given twice (mounts, tmpfs, workspace, artifacts and "
                                        "secrets together), leave one of them"));
        hutch_spec_free(spec);
    }
}

/* A text of this length that begins like this. Free it. */
static char *filled(size_t length, const char *start)
{
    char *text = malloc(length + 1);
    assert_non_null(text);
    memset(text, 'x', length);
    text[length] = '\0';
    memcpy(text, start, strlen(start));
    return text;
}

static void an_argument_has_a_most(void **state)
{
    char *text = filled(128 << 10, "");
    struct hutch_error err;
    set(*state, "command", text + 1);
    assert_fine(hutch_spec_validate(*state, &err), &err);
    set(*state, "command", text);
    assert_refused(hutch_spec_validate(*state, &err), &err,
                   "argument 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...' has 131072 bytes, the "
                   "most is 131071; pass it in a file or on standard input");
    free(text);
}

static void a_variable_has_a_most(void **state)
{
    char *longest = filled((128 << 10) - 1, "KEY="), *longer = filled(128 << 10, "KEY=");
    struct hutch_error err;
    set(*state, "env", longest);
    assert_fine(hutch_spec_validate(*state, &err), &err);
    set(*state, "env", longer);
    assert_refused(
        hutch_spec_validate(*state, &err), &err,
        "variable 'KEY...' has 131072 bytes, the most is 131071; pass it in a file or on "
        "standard input");
    free(longest);
    free(longer);
}

static void all_of_them_together_have_a_most(void **state)
{
    char *text = filled(100000, "");
    struct hutch_error err;
    for (unsigned i = 0; i < 20; i++)
        set(*state, "command", text);
    assert_fine(hutch_spec_validate(*state, &err), &err);
    set(*state, "command", text);
    assert_refused(hutch_spec_validate(*state, &err), &err,
                   "command and environment together exceed 2097152 bytes; pass some of it in a "
                   "file or on standard input");
    free(text);
}

static void all_rules_of_a_name_together_have_a_most(void **state)
{
    struct hutch_spec *spec = *state;
    struct hutch_error err;
    set(spec, "egress", "a.test:1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16");
    set(spec, "egress", "*.test:21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36");
    set(spec, "egress", "b.test:1000,1001");
    set(spec, "egress", "test:1002,1003");
    set(spec, "egress", "*.a.test:1004,1005");
    set(spec, "egress", "a.test:16,36");
    assert_fine(hutch_spec_validate(spec, &err), &err);
    set(spec, "egress", "A.test.:7000");
    assert_int_equal(hutch_spec_validate(spec, &err), -HUTCH_E_INVALID);
    assert_non_null(strstr(err.msg, "more than 32 ports"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_command_is_enough),
        TEST(a_command_must_be_there),
        TEST(an_image_may_bring_the_command),
        TEST(what_is_about_images_needs_one),
        TEST(distinct_targets_are_fine),
        TEST(targets_that_cannot_be_are_refused),
        TEST(a_target_from_a_document_must_be_absolute_too),
        TEST(a_target_is_given_once),
        TEST(an_argument_has_a_most),
        TEST(a_variable_has_a_most),
        TEST(all_of_them_together_have_a_most),
        TEST(all_rules_of_a_name_together_have_a_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
