/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdio.h>

#include "core/check.h"

static int check(hutch_text_check_fn fn, const char *text, struct hutch_error *err)
{
    char *copy = strdup(text);
    assert_non_null(copy);
    *err = (struct hutch_error){0};
    int r = fn(copy, err);
    free(copy);
    return r;
}

/* Lists end with NULL. */
static void assert_all(hutch_text_check_fn fn, const char *const *texts, bool fine)
{
    for (; *texts; texts++) {
        struct hutch_error err;
        int r = check(fn, *texts, &err);
        if ((r == 0) != fine)
            fail_msg("'%s': %d %s", *texts, r, err.msg);
        if (!fine && (r != -HUTCH_E_INVALID || !strchr(err.msg, '\'')))
            fail_msg("'%s' is refused with '%s'", *texts, err.msg);
    }
}

#define X10 "xxxxxxxxxx"
#define X60 X10 X10 X10 X10 X10 X10

static void names(void **state)
{
    static const char *const good[] = {"a", "0", "build-1", "a_b.c-d", X60 "xxx", NULL};
    static const char *const bad[] = {"",    "A",   "-a",       "_a",       ".a", "a b",
                                      "a/b", "a\n", X60 "xxxx", "\xC3\xA9", "a:", NULL};
    (void)state;
    assert_all(hutch_check_name, good, true);
    assert_all(hutch_check_name, bad, false);
}

static void hostnames(void **state)
{
    static const char *const good[] = {"hutch", "a.b.c", "Build-1", "1", X60 ".xyz", NULL};
    static const char *const bad[] = {"",     ".",   "a.",  ".a", "a..b",      "-a", "a-",
                                      "a-.b", "a_b", "a b", "\n", X60 ".xxxx", NULL};
    (void)state;
    assert_all(hutch_check_hostname, good, true);
    assert_all(hutch_check_hostname, bad, false);
}

static void users(void **state)
{
    static const char *const good[] = {
        "0",      "65535",  "1000:1000", "nobody", "www-data:www-data",
        "_apt:0", "0:root", "a.b",       "00001",  NULL};
    static const char *const bad[] = {"",           ":",          "0:",
                                      ":0",         "65536",      "0:65536",
                                      "4294967296", "4294967295", "99999999999999999999999",
                                      "-1",         "+1",         "0x1",
                                      "1a",         "a b",        "a:b:c",
                                      "root:0:",    "r\xC3\xB6t", "../x",
                                      NULL};
    (void)state;
    assert_all(hutch_check_user, good, true);
    assert_all(hutch_check_user, bad, false);
}

static void a_user_that_is_a_number_is_never_a_name(void **state)
{
    struct hutch_error err;
    (void)state;
    assert_int_equal(check(hutch_check_user, "4294967296", &err), -HUTCH_E_INVALID);
    assert_string_equal(err.msg, "'4294967296' has an id above 65535, the largest there is in a "
                                 "sandbox");
}

static void workdirs(void **state)
{
    static const char *const good[] = {"/",       "/workspace", "/a/b/", "/procure",
                                       "/a/proc", "/...",       NULL};
    static const char *const bad[] = {"",        ".",      "a",     "a/b",    "/a/../proc",
                                      "/./proc", "//proc", "/proc", "/proc/", "/proc/self/fd/7",
                                      "/a//b",   "/a/.",   "/..",   NULL};
    (void)state;
    assert_all(hutch_check_workdir, good, true);
    assert_all(hutch_check_workdir, bad, false);
}

static void slashes_at_the_end_go(void **state)
{
    static const char *const pairs[][2] = {
        {"/", "/"}, {"//", "/"}, {"/a/", "/a"}, {"/a///", "/a"}, {"/a", "/a"}, {"", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        char text[8];
        (void)snprintf(text, sizeof(text), "%s", pairs[i][0]);
        hutch_path_trim(text);
        assert_string_equal(text, pairs[i][1]);
    }
}

static void a_path_lies_within_whole_components_only(void **state)
{
    (void)state;
    assert_true(hutch_path_is_within("/dev", "/dev"));
    assert_true(hutch_path_is_within("/dev/shm", "/dev"));
    assert_false(hutch_path_is_within("/device", "/dev"));
    assert_false(hutch_path_is_within("/de", "/dev"));
    assert_true(hutch_path_is_within("/", "/"));
    assert_true(hutch_path_is_within("/dev/shm", "/"));
    assert_false(hutch_path_is_within("dev", "/"));
}

static void host_paths_fit_the_kernel(void **state)
{
    char text[4097];
    struct hutch_error err;
    (void)state;
    memset(text, 'a', sizeof(text));
    text[4096] = '\0';
    assert_int_equal(check(hutch_check_host_path, text, &err), -HUTCH_E_INVALID);
    text[4095] = '\0';
    assert_int_equal(check(hutch_check_host_path, text, &err), 0);
    assert_int_equal(check(hutch_check_host_path, "", &err), -HUTCH_E_INVALID);
}

static void keys(void **state)
{
    static const char *const good[] = {"A", "a b", "\xFF", NULL};
    static const char *const bad[] = {"", "=", "A=", "A=1", NULL};
    (void)state;
    assert_all(hutch_check_key, good, true);
    assert_all(hutch_check_key, bad, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(hostnames),
        cmocka_unit_test(users),
        cmocka_unit_test(a_user_that_is_a_number_is_never_a_name),
        cmocka_unit_test(workdirs),
        cmocka_unit_test(slashes_at_the_end_go),
        cmocka_unit_test(a_path_lies_within_whole_components_only),
        cmocka_unit_test(host_paths_fit_the_kernel),
        cmocka_unit_test(keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
