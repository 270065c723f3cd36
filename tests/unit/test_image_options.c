/* SPDX-License-Identifier: Apache-2.0 */
/* What callers of hutch/image.h may ask for: nothing that they say is passed over in silence. */
#include "unit.h"

#include "hutch/image.h"

static void of_another_header_is_refused(void **state)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_image_options options = HUTCH_IMAGE_OPTIONS_INIT;
    struct hutch_image_build build = {.size = sizeof(build), .directory = "/", .reference = "a"};
    char digest[HUTCH_IMAGE_DIGEST_BYTES];
    (void)state;
    options.size--;
    const int answers[] = {
        hutch_image_pull("localhost:1/a", &options, digest, &err),
        hutch_image_push("a", NULL, &options, &err),
        hutch_image_import("/", "a", &options, &err),
        hutch_image_load("/", NULL, NULL, NULL, &options, &err),
        hutch_image_snapshot("a", "a", &options, digest, &err),
        hutch_image_build(&build, &options, &err),
    };
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
        assert_int_equal(answers[i], -HUTCH_E_INVALID);
    assert_non_null(strstr(err.msg, "HUTCH_IMAGE_OPTIONS_INIT"));
}

static void a_platform_that_would_be_ignored_is_refused(void **state)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_image_options options = HUTCH_IMAGE_OPTIONS_INIT;
    char digest[HUTCH_IMAGE_DIGEST_BYTES];
    (void)state;
    options.platform = "linux/arm64";
    assert_int_equal(hutch_image_push("a", NULL, &options, &err), -HUTCH_E_INVALID);
    assert_int_equal(hutch_image_snapshot("a", "a", &options, digest, &err), -HUTCH_E_INVALID);
}

static void the_cause_need_not_be_asked_for(void **state)
{
    (void)state;
    assert_int_equal(hutch_image_push("A", NULL, NULL, NULL), -HUTCH_E_INVALID);
    assert_int_equal(hutch_image_login("a b", "user", "word", NULL), -HUTCH_E_INVALID);
    assert_int_equal(hutch_image_logout("a b", NULL), -HUTCH_E_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_another_header_is_refused),
        cmocka_unit_test(a_platform_that_would_be_ignored_is_refused),
        cmocka_unit_test(the_cause_need_not_be_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
