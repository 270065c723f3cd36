/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "image/manifest.h"
#include "util/own.h"

#define A "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ROOTFS "\"rootfs\":{\"type\":\"layers\",\"diff_ids\":[\"" A "\",\"" A "\"]}"
#define WITH(config) "{\"config\":{" config "}," ROOTFS "}"

static void what_a_run_needs_is_read(void **state)
{
    static const char text[] =
        "{\"architecture\":\"arm64\",\"os\":\"linux\",\"variant\":\"v8\",\"created\":\"2024-01-01T"
        "00:00:00Z\",\"config\":{\"User\":\"app\",\"WorkingDir\":\"/srv\",\"Env\":[\"PATH=/bin\","
        "\"EMPTY=\",\"A=b=c\"],\"Entrypoint\":[\"/entry\",\"-x\"],\"Cmd\":[\"run\"],\"Labels\":{"
        "\"a\":\"1\",\"b\":\"\"},\"StopSignal\":\"SIGINT\",\"Volumes\":{\"/data\":{}},"
        "\"ExposedPorts\":{\"80/tcp\":{}},\"Healthcheck\":{\"Test\":[\"NONE\"]}},"
        "\"history\":[{\"empty_layer\":true}]," ROOTFS "}";
    struct image image = IMAGE_INIT;
    struct hutch_strlist diff_ids = {0};
    struct hutch_error err;
    (void)state;
    assert_fine(config_parse(text, strlen(text), &image, &diff_ids, &err), &err);
    assert_string_equal(image.architecture, "arm64");
    assert_string_equal(image.os, "linux");
    assert_string_equal(image.variant, "v8");
    assert_string_equal(image.created, "2024-01-01T00:00:00Z");
    assert_string_equal(image.user, "app");
    assert_string_equal(image.workdir, "/srv");
    assert_string_equal(image.stop_signal, "SIGINT");
    assert_int_equal(image.env.count, 3);
    assert_string_equal(image.env.items[2], "A=b=c");
    assert_int_equal(image.entrypoint.count, 2);
    assert_string_equal(image.cmd.items[0], "run");
    assert_string_equal(image.labels.items[0], "a=1");
    assert_string_equal(image.labels.items[1], "b=");
    assert_int_equal(diff_ids.count, 2);
    hutch_strlist_done(&diff_ids);
    image_done(&image);
}

static void what_is_null_is_not_there(void **state)
{
    static const char *const texts[] = {
        "{" ROOTFS "}",
        "{\"config\":null,\"created\":null," ROOTFS "}",
        WITH("\"User\":null,\"Env\":null,\"Cmd\":null,\"Entrypoint\":null,\"Labels\":null,"
             "\"WorkingDir\":null,\"StopSignal\":null"),
    };
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(texts); i++) {
        struct image image = IMAGE_INIT;
        struct hutch_strlist diff_ids = {0};
        struct hutch_error err;
        assert_fine(config_parse(texts[i], strlen(texts[i]), &image, &diff_ids, &err), &err);
        assert_string_equal(image.user, "");
        assert_string_equal(image.workdir, "");
        assert_string_equal(image.stop_signal, "");
        assert_null(image.created);
        assert_int_equal(image.env.count + image.cmd.count + image.entrypoint.count, 0);
        hutch_strlist_done(&diff_ids);
        image_done(&image);
    }
}

static void what_is_wrong_is_said(void **state)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"", "the document ends"},
        {"7", "it is a number, not an object"},
        {"{}", "it has no 'rootfs'"},
        {"{\"rootfs\":{\"diff_ids\":[]}}", "its file system is of the type ''"},
        {"{\"rootfs\":{\"type\":\"layers\",\"diff_ids\":[\"x\"]}}", "'diff_ids' holds 'x'"},
        {"{\"rootfs\":{\"type\":\"layers\",\"diff_ids\":[7]}}", "all in it must be strings"},
        {"{\"os\":7," ROOTFS "}", "'os' is a number, it must be a string"},
        {"{\"os\":\"0123456789012345678901234567890123\"," ROOTFS "}", "longer than 31 bytes"},
        {"{\"config\":[]," ROOTFS "}", "'config' is a list, it must be an object"},
        {WITH("\"Cmd\":\"sh\""), "'Cmd' is a string, it must be a list"},
        {WITH("\"Entrypoint\":[null]"), "'Entrypoint' holds null"},
        {WITH("\"Env\":[\"A\"]"), "'Env' holds 'A', which is not NAME=VALUE"},
        {WITH("\"Env\":[\"=x\"]"), "'Env' holds '=x', which is not NAME=VALUE"},
        {WITH("\"Env\":[],\"Env\":[]"), "duplicate key 'Env'"},
        {WITH("\"Labels\":{\"a\":1}"), "the label 'a' is a number, it must be a string"},
        {WITH("\"WorkingDir\":\"srv\""), "'WorkingDir' is 'srv', which is not an absolute path"},
        {WITH("\"User\":\"a\\u0000b\""), "a NUL byte"},
    };
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(cases); i++) {
        struct image image = IMAGE_INIT;
        struct hutch_strlist diff_ids = {0};
        struct hutch_error err = HUTCH_ERROR_INIT;
        if (config_parse(cases[i].text, strlen(cases[i].text), &image, &diff_ids, &err) >= 0)
            fail_msg("taken: %s", cases[i].text);
        if (strncmp(err.msg, "configuration: ", 15) != 0 || !strstr(err.msg, cases[i].message))
            fail_msg("'%s' is not in '%s'", cases[i].message, err.msg);
        hutch_strlist_done(&diff_ids);
        image_done(&image);
    }
}

static void as_many_layers_as_the_manifest_has(void **state)
{
    struct manifest manifest = {.layer_count = 1};
    struct hutch_strlist diff_ids = {0};
    struct hutch_error err;
    (void)state;
    assert_refused(manifest_check_layers(&manifest, &diff_ids, &err), &err,
                   "the manifest names 1 layers and the configuration 0");
    assert_fine(hutch_strlist_add(&diff_ids, A, &err), &err);
    assert_fine(manifest_check_layers(&manifest, &diff_ids, &err), &err);
    hutch_strlist_done(&diff_ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_run_needs_is_read),
        cmocka_unit_test(what_is_null_is_not_there),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(as_many_layers_as_the_manifest_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
