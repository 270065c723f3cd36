/* SPDX-License-Identifier: Apache-2.0 */
/* The first byte chooses what the server says the document is; the rest is the document. What is
 * taken has only what later steps may rely on. */
#include "fuzz.h"

#include "image/manifest.h"

static const char *const said[] = {
    NULL,
    "application/json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json; charset=utf-8",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.docker.distribution.manifest.v1+prettyjws",
    "text/html",
};

static void check_descriptor(const struct descriptor *descriptor)
{
    REQUIRE(image_digest_is_valid(descriptor->digest), "%s", descriptor->digest);
    REQUIRE(descriptor->size <= INT64_MAX, "negative");
    REQUIRE(memchr(descriptor->media_type, '\0', sizeof(descriptor->media_type)), "endless");
}

static void check_image(const struct manifest *manifest)
{
    uint64_t total = 0;
    REQUIRE(manifest->layer_count && manifest->layer_count <= MANIFEST_MAX_LAYERS, "layers");
    REQUIRE(!manifest->entry_count, "an image with entries");
    check_descriptor(&manifest->config);
    REQUIRE(manifest->config.size <= CONFIG_MAX_BYTES, "configuration");
    for (size_t i = 0; i < manifest->layer_count; i++) {
        check_descriptor(&manifest->layers[i]);
        total += manifest->layers[i].size;
        REQUIRE(total <= INT64_MAX, "overflow");
    }
}

static void check_index(const struct manifest *index)
{
    const struct descriptor *entry = NULL;
    const struct platform platform = {.os = "linux", .architecture = "amd64"};
    struct hutch_error err = HUTCH_ERROR_INIT;
    REQUIRE(!index->layer_count, "an index with layers");
    for (size_t i = 0; i < index->entry_count; i++)
        check_descriptor(&index->entries[i]);
    int r = manifest_choose(index, &platform, &entry, &err);
    REQUIRE((r == 0) == (entry != NULL), "%s", err.msg);
    REQUIRE(r == 0 || r == -HUTCH_E_NOT_FOUND, "%s", err.msg);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct manifest manifest = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    if (!size)
        return 0;
    hutch_autofree char *text = fuzz_text(data + 1, size - 1);
    int r = manifest_parse(text, size - 1, said[data[0] % HUTCH_COUNT(said)], &manifest, &err);
    if (r < 0) {
        REQUIRE(r == -HUTCH_E_INVALID || r == -HUTCH_E_UNSUPPORTED, "%d: %s", r, err.msg);
        REQUIRE(!strncmp(err.msg, "manifest: ", 10), "%s", err.msg);
        REQUIRE(!manifest.layers && !manifest.entries && !manifest.platforms, "%s", err.msg);
        return 0;
    }
    if (manifest.kind == MANIFEST_INDEX)
        check_index(&manifest);
    else
        check_image(&manifest);
    manifest_done(&manifest);
    return 0;
}
