/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdio.h>

#include "image/manifest.h"
#include "util/buf.h"
#include "util/own.h"

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define A "sha256:" HEX
#define B "sha256:1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OCI "application/vnd.oci.image."
#define DOCKER "application/vnd.docker."
#define CONFIG(type) "\"config\":{\"mediaType\":\"" type "\",\"digest\":\"" A "\",\"size\":12}"
#define BLOB(type, size) "{\"mediaType\":\"" type "\",\"digest\":\"" B "\",\"size\":" size "}"
#define OCI_LAYER BLOB(OCI "layer.v1.tar+gzip", "5")
#define IMAGE_WITH(layers) \
    "{\"schemaVersion\":2," CONFIG(OCI "config.v1+json") ",\"layers\":[" layers "]}"
#define PLATFORM(os, arch, variant) \
    ",\"platform\":{\"os\":\"" os "\",\"architecture\":\"" arch "\",\"variant\":\"" variant "\"}"
#define INDEX(entries) "{\"schemaVersion\":2,\"manifests\":[" entries "]}"

static int parse(const char *text, const char *type, struct manifest *ret, struct hutch_error *err)
{
    return manifest_parse(text, strlen(text), type, ret, err);
}

static void an_oci_image_is_read(void **state)
{
    struct manifest manifest;
    struct hutch_error err;
    (void)state;
    assert_fine(parse(IMAGE_WITH(OCI_LAYER "," BLOB(OCI "layer.v1.tar+zstd", "7")),
                      OCI "manifest.v1+json; charset=utf-8", &manifest, &err),
                &err);
    assert_int_equal(manifest.kind, MANIFEST_IMAGE);
    assert_false(manifest.is_docker);
    assert_string_equal(manifest.config.digest, A);
    assert_int_equal(manifest.config.size, 12);
    assert_int_equal(manifest.layer_count, 2);
    assert_string_equal(manifest.layers[0].digest, B);
    assert_int_equal(manifest.layers[1].size, 7);
    manifest_done(&manifest);
}

static void a_docker_image_is_read(void **state)
{
    static const char text[] =
        "{\"schemaVersion\":2,\"mediaType\":\"" DOCKER "distribution.manifest.v2+json\"," CONFIG(
            DOCKER
            "container.image.v1+json") ",\"layers\":[" BLOB(DOCKER "image.rootfs.diff.tar.gzip",
                                                            "5") "]}";
    struct manifest manifest;
    struct hutch_error err;
    (void)state;
    static const char *const said[] = {NULL, "application/json",
                                       DOCKER "distribution.manifest.v2+json"};
    for (size_t i = 0; i < HUTCH_COUNT(said); i++) {
        assert_fine(parse(text, said[i], &manifest, &err), &err);
        assert_true(manifest.is_docker);
        assert_int_equal(manifest.layer_count, 1);
        manifest_done(&manifest);
    }
}

static void what_is_wrong_is_said(void **state)
{
    static const struct {
        const char *text;
        const char *type;
        const char *message;
    } cases[] = {
        {"[]", NULL, "it is a list, not an object"},
        {"{}", NULL, "its 'schemaVersion' is not 2"},
        {"{\"schemaVersion\":2}", NULL, "neither an image nor an index"},
        {"{\"schemaVersion\":\"2\"}", NULL, "'schemaVersion' is a string, it must be a number"},
        {"{\"schemaVersion\":1,\"fsLayers\":[]}", NULL, "Docker's schema 1"},
        {"{\"schemaVersion\":2,\"layers\":[],\"manifests\":[]}", NULL, "only one of them"},
        {"{\"schemaVersion\":2,\"schemaVersion\":2}", NULL, "duplicate key 'schemaVersion'"},
        {IMAGE_WITH(""), NULL, "it has no layers"},
        {IMAGE_WITH("7"), NULL, "a descriptor is a number, not an object"},
        {IMAGE_WITH(BLOB(OCI "layer.v1.tar", "-1")), NULL, "'size' is negative"},
        {IMAGE_WITH(BLOB(OCI "layer.v1.tar", "1.5")), NULL, "'size' is a number"},
        {IMAGE_WITH(BLOB(OCI "layer.v1.tar", "null")), NULL, "'size' is missing"},
        {IMAGE_WITH(BLOB(OCI "layer.v1.tar", "9223372036854775808")), NULL, "is too large"},
        {IMAGE_WITH(BLOB(OCI "layer.v1.tar", "9223372036854775807") "," OCI_LAYER), NULL,
         "the sizes of its layers overflow"},
        {IMAGE_WITH(BLOB("application/vnd.wasm", "1")), NULL,
         "hutch knows no layers of the type 'application/vnd.wasm'"},
        {IMAGE_WITH("{\"mediaType\":\"" OCI "layer.v1.tar\",\"size\":1}"), NULL,
         "'digest' is missing"},
        {IMAGE_WITH("{\"mediaType\":\"" OCI "layer.v1.tar\",\"size\":1,\"digest\":\"sha512:1\"}"),
         NULL, "'sha512:1' is not a digest that hutch knows"},
        {IMAGE_WITH("{\"mediaType\":\"" OCI
                    "layer.v1.tar\",\"size\":1,\"digest\":\"sha256:../../../etc\"}"),
         NULL, "is not a digest that hutch knows"},
        {IMAGE_WITH(OCI_LAYER), "text/html", "'text/html' is not an image that hutch knows"},
        {IMAGE_WITH(OCI_LAYER), OCI "index.v1+json", "does not look like it"},
        {IMAGE_WITH(OCI_LAYER), DOCKER "distribution.manifest.v1+prettyjws", "schema 1"},
        {"{\"schemaVersion\":2,\"layers\":[" OCI_LAYER "]}", NULL, "it has no 'config'"},
        {"{\"schemaVersion\":2," CONFIG("application/vnd.cncf.helm.config.v1+json") ",\"layers\":["
                                                                                    "]}",
         NULL, "it is not a file system to run"},
        {"{\"schemaVersion\":2,\"config\":{\"mediaType\":\"" OCI "config.v1+json\",\"digest\":\"" A
         "\",\"size\":4194305},\"layers\":[" OCI_LAYER "]}",
         NULL, "its configuration has 4194305 bytes, the most is 4194304"},
        {"{\"schemaVersion\":2,\"mediaType\":\"" OCI
         "index.v1+json\"," CONFIG(OCI "config.v1+json") ",\"layers\":[" OCI_LAYER "]}",
         OCI "manifest.v1+json", "it was sent as"},
        {INDEX("{\"mediaType\":5}"), NULL, "'mediaType' is a number, it must be a string"},
    };
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(cases); i++) {
        struct manifest manifest = {.layer_count = 77};
        struct hutch_error err = HUTCH_ERROR_INIT;
        if (parse(cases[i].text, cases[i].type, &manifest, &err) >= 0)
            fail_msg("taken: %s", cases[i].text);
        if (strncmp(err.msg, "manifest: ", 10) != 0 || !strstr(err.msg, cases[i].message))
            fail_msg("'%s' is not in '%s'", cases[i].message, err.msg);
        assert_int_equal(manifest.layer_count, 77);
    }
}

static void more_layers_than_can_be_stacked_are_refused(void **state)
{
    (void)state;
    for (int count = MANIFEST_MAX_LAYERS; count <= MANIFEST_MAX_LAYERS + 1; count++) {
        hutch_cleanup(hutch_buf_done) struct hutch_buf buf = HUTCH_BUF(1u << 20);
        struct manifest manifest = {0};
        struct hutch_error err = HUTCH_ERROR_INIT;
        hutch_buf_puts(&buf, "{\"schemaVersion\":2," CONFIG(OCI "config.v1+json") ",\"layers\":[");
        for (int i = 0; i < count; i++)
            hutch_buf_printf(&buf, "%s%s", i ? "," : "", OCI_LAYER);
        hutch_buf_puts(&buf, "]}");
        int r = manifest_parse(buf.data, buf.length, NULL, &manifest, &err);
        assert_int_equal(r, count > MANIFEST_MAX_LAYERS ? -HUTCH_E_UNSUPPORTED : 0);
        manifest_done(&manifest);
    }
}

struct entry {
    char digit; /* its digest begins with it */
    const char *media_type;
    const char *platform; /* what follows in the object */
};

static void put_entry(struct hutch_buf *buf, const struct entry *entry)
{
    hutch_buf_printf(buf, "%s{\"mediaType\":\"%s\",\"digest\":\"sha256:%c%s\",\"size\":7%s}",
                     entry->digit == '0' ? "" : ",", entry->media_type, entry->digit, HEX + 1,
                     entry->platform);
}

/* One of each kind that there is in the wild. */
static void put_index(struct hutch_buf *buf)
{
    static const char image[] = OCI "manifest.v1+json";
    static const struct entry entries[] = {
        {'0', image, PLATFORM("unknown", "unknown", "")},
        {'1', image, PLATFORM("linux", "arm", "v6")},
        {'2', image, PLATFORM("linux", "arm", "v7")},
        {'3', image, PLATFORM("linux", "arm64", "v8")},
        {'4', image, PLATFORM("linux", "amd64", "v3")},
        {'5', image, PLATFORM("linux", "amd64", "")},
        {'6', "application/vnd.other", ""},
    };
    hutch_buf_puts(buf, "{\"schemaVersion\":2,\"manifests\":[");
    for (size_t i = 0; i < HUTCH_COUNT(entries); i++)
        put_entry(buf, &entries[i]);
    hutch_buf_puts(buf, "]}");
}

static void the_platform_chooses(void **state)
{
    hutch_cleanup(hutch_buf_done) struct hutch_buf buf = HUTCH_BUF(1u << 16);
    static const struct {
        const char *platform;
        char digit;
    } cases[] = {
        {"linux/amd64", '5'}, {"amd64", '5'},          {"linux/amd64/v3", '4'},
        {"x86_64", '5'},      {"linux/amd64/v2", '5'}, {"linux/arm64", '3'},
        {"aarch64", '3'},     {"linux/arm64/v8", '3'}, {"linux/arm/v7", '2'},
        {"linux/arm", '2'},   {"linux/arm/v6", '1'},
    };
    struct manifest index;
    struct hutch_error err;
    (void)state;
    put_index(&buf);
    assert_fine(parse(buf.data, OCI "index.v1+json", &index, &err), &err);
    assert_int_equal(index.entry_count, 6);
    for (size_t i = 0; i < HUTCH_COUNT(cases); i++) {
        const struct descriptor *entry = NULL;
        struct platform platform;
        assert_fine(platform_parse(cases[i].platform, &platform, &err), &err);
        assert_fine(manifest_choose(&index, &platform, &entry, &err), &err);
        assert_int_equal(entry->digest[7], cases[i].digit);
    }
    const struct descriptor *entry = NULL;
    struct platform other = {.os = "linux", .architecture = "s390x"};
    assert_int_equal(manifest_choose(&index, &other, &entry, &err), -HUTCH_E_NOT_FOUND);
    assert_string_equal(err.msg, "there is no image for linux/s390x, only for: linux/arm/v6, "
                                 "linux/arm/v7, linux/arm64/v8, linux/amd64/v3, linux/amd64");
    manifest_done(&index);
}

static void platforms_are_read(void **state)
{
    static const char *const wrong[] = {"",
                                        "/",
                                        "linux/",
                                        "/amd64",
                                        "linux/amd64/v8/x",
                                        "a b/c",
                                        "linux//v8",
                                        "lin\nux/amd64",
                                        "linux/0123456789012345678901234567890123"};
    struct platform platform;
    struct hutch_error err;
    (void)state;
    assert_fine(platform_parse("armhf", &platform, &err), &err);
    assert_string_equal(platform.os, "linux");
    assert_string_equal(platform.architecture, "arm");
    assert_string_equal(platform.variant, "v7");
    for (size_t i = 0; i < HUTCH_COUNT(wrong); i++)
        assert_int_equal(platform_parse(wrong[i], &platform, &err), -HUTCH_E_INVALID);
    platform_here(&platform);
    assert_string_equal(platform.os, "linux");
    assert_true(platform.architecture[0]);
    assert_fine(platform_check(&platform, &platform, &err), &err);
    struct platform silent = {0}, windows = {.os = "windows", .architecture = "amd64"};
    assert_fine(platform_check(&silent, &platform, &err), &err);
    assert_int_equal(platform_check(&windows, &platform, &err), -HUTCH_E_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_oci_image_is_read),
        cmocka_unit_test(a_docker_image_is_read),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(more_layers_than_can_be_stacked_are_refused),
        cmocka_unit_test(the_platform_chooses),
        cmocka_unit_test(platforms_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
