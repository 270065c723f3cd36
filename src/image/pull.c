/* SPDX-License-Identifier: Apache-2.0 */
/* From a name to an image in the store:
 *
 *     name -> index -> manifest for the platform -> configuration -> layers -> record -> name
 *
 * Each step is named by a digest in the step before it, so what the first answer says fixes all
 * that follows; and each is in the store before the one that names it, so a pull may end at any
 * moment, and the next one begins with what is there. */
#include "image/pull.h"

#include <errno.h>
#include <string.h>

#include "image/manifest.h"
#include "image/pull_layers.h"
#include "image/registry.h"
#include "image/store_add.h"
#include "util/own.h"

/* An index of indexes is allowed, but not for ever. */
#define MOST_INDEXES 3

struct pull {
    struct image_store store;
    int lock;
    struct image_reference reference;
    struct platform platform;
    struct registry *registry;
    struct progress progress;
    struct manifest manifest;
    struct image image;
    struct hutch_strlist diff_ids;
    struct hutch_strlist names; /* of the layers, the lowest first */
    struct hutch_error *err;
};

static void pull_done(struct pull *pull)
{
    registry_free(pull->registry);
    manifest_done(&pull->manifest);
    image_done(&pull->image);
    hutch_strlist_done(&pull->diff_ids);
    hutch_strlist_done(&pull->names);
    hutch_fd_close(&pull->lock);
    image_store_close(&pull->store);
}

/* ---- manifest ---- */

static int fetch_manifest(struct pull *pull, const char *tag_or_digest,
                          const struct descriptor *expected)
{
    hutch_autofree char *text = NULL;
    char media_type[128] = "", digest[IMAGE_DIGEST_BYTES], stored[IMAGE_DIGEST_BYTES];
    size_t length = 0;
    int r = registry_get_manifest(pull->registry, tag_or_digest, &text, &length, media_type, digest,
                                  pull->err);
    if (r < 0)
        return r;
    if (expected && expected->size != length)
        return hutch_fail(pull->err, HUTCH_E_INVALID, 0,
                          "the manifest has %zu bytes, but the index says %llu", length,
                          (unsigned long long)expected->size);
    manifest_done(&pull->manifest);
    r = manifest_parse(text, length, media_type, &pull->manifest, pull->err);
    if (r < 0 || pull->manifest.kind == MANIFEST_INDEX)
        return r;
    memcpy(pull->image.digest, digest, IMAGE_DIGEST_BYTES);
    return store_add_blob(&pull->store, text, length, stored, pull->err);
}

static int find_manifest(struct pull *pull)
{
    const struct image_reference *reference = &pull->reference;
    int r = fetch_manifest(pull, reference->digest[0] ? reference->digest : reference->tag, NULL);
    for (int i = 0; r >= 0 && pull->manifest.kind == MANIFEST_INDEX; i++) {
        const struct descriptor *entry = NULL;
        if (i == MOST_INDEXES)
            return hutch_fail(pull->err, HUTCH_E_INVALID, 0,
                              "more than %d indexes lead to each other", MOST_INDEXES);
        r = manifest_choose(&pull->manifest, &pull->platform, &entry, pull->err);
        if (r < 0)
            return r;
        const struct descriptor chosen = *entry;
        r = fetch_manifest(pull, chosen.digest, &chosen);
    }
    return r;
}

/* ---- configuration ---- */

static int write_blob(void *context, const void *data, size_t length, struct hutch_error *err)
{
    return blob_write(context, data, length, err);
}

static int rewind_blob(void *context, struct hutch_error *err)
{
    return blob_rewind(context, err);
}

static int fetch_config(struct pull *pull)
{
    const struct descriptor *config = &pull->manifest.config;
    struct blob_writer *writer = NULL;
    bool is_there = false;
    uint64_t have = 0;
    int r = blob_begin(&pull->store, config->digest, config->size, &writer, &is_there, &have,
                       pull->err);
    if (r < 0 || is_there)
        return r;
    struct registry_get get = {.blob = config,
                               .from = have,
                               .restart = rewind_blob,
                               .sink = write_blob,
                               .context = writer};
    if (have < config->size)
        r = registry_get_blobs(pull->registry, &get, 1, 1, pull->err);
    if (r >= 0)
        r = blob_commit(writer, pull->err);
    blob_free(writer);
    return r;
}

/* An image that does not say what it is for is taken to be for what was asked. */
static int settle_platform(struct pull *pull)
{
    struct image *image = &pull->image;
    struct platform platform = {0};
    memcpy(platform.os, image->os, sizeof(platform.os));
    memcpy(platform.architecture, image->architecture, sizeof(platform.architecture));
    memcpy(platform.variant, image->variant, sizeof(platform.variant));
    int r = platform_check(&platform, &pull->platform, pull->err);
    if (r < 0 || image->os[0] || image->architecture[0])
        return r;
    memcpy(image->os, pull->platform.os, sizeof(image->os));
    memcpy(image->architecture, pull->platform.architecture, sizeof(image->architecture));
    memcpy(image->variant, pull->platform.variant, sizeof(image->variant));
    return 0;
}

static int read_config(struct pull *pull)
{
    hutch_autofree char *text = NULL;
    size_t length = 0;
    int r = fetch_config(pull);
    if (r >= 0)
        r = store_read_blob(&pull->store, pull->manifest.config.digest, CONFIG_MAX_BYTES, &text,
                            &length, pull->err);
    if (r >= 0)
        r = config_parse(text, length, &pull->image, &pull->diff_ids, pull->err);
    if (r >= 0)
        r = manifest_check_layers(&pull->manifest, &pull->diff_ids, pull->err);
    return r < 0 ? r : settle_platform(pull);
}

/* ---- the whole ---- */

/* Is all of it there? Then the record says what the image is for. */
static bool is_complete(struct pull *pull)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    struct image *image = &pull->image;
    hutch_cleanup(image_done) struct image there = IMAGE_INIT;
    if (image_find_digest(&pull->store, image->digest, &there, &ignored) < 0)
        return false;
    for (size_t i = 0; i < pull->manifest.layer_count; i++)
        if (!store_has_blob(&pull->store, pull->manifest.layers[i].digest, NULL))
            return false;
    memcpy(image->os, there.os, sizeof(image->os));
    memcpy(image->architecture, there.architecture, sizeof(image->architecture));
    memcpy(image->variant, there.variant, sizeof(image->variant));
    return true;
}

static int add_image(struct pull *pull)
{
    struct image *image = &pull->image;
    int r = pull_layers(&pull->store, pull->registry, &pull->manifest, &pull->diff_ids,
                        &pull->progress, &pull->names, pull->err);
    for (size_t i = pull->names.count; r >= 0 && i > 0; i--)
        r = hutch_strlist_add(&image->layers, pull->names.items[i - 1], pull->err);
    if (r < 0)
        return r;
    memcpy(image->config_digest, pull->manifest.config.digest, IMAGE_DIGEST_BYTES);
    for (size_t i = 0; i < pull->manifest.layer_count; i++)
        image->bytes += pull->manifest.layers[i].size;
    return store_add_image(&pull->store, image, pull->err);
}

static int open_all(struct pull *pull, const char *platform)
{
    int r = 0;
    platform_here(&pull->platform);
    if (platform)
        r = platform_parse(platform, &pull->platform, pull->err);
    if (r >= 0)
        r = image_store_open(&pull->store, true, pull->err);
    if (r >= 0)
        r = store_begin_adding(&pull->store, &pull->lock, pull->err);
    if (r >= 0)
        r = registry_open(&pull->reference, REGISTRY_PULL, &pull->registry, pull->err);
    return r;
}

static int pull_all(struct pull *pull, const char *platform)
{
    int r = open_all(pull, platform);
    if (r >= 0)
        r = find_manifest(pull);
    if (r < 0)
        return r;
    bool is_there = is_complete(pull);
    r = is_there ? settle_platform(pull) : read_config(pull);
    if (r >= 0 && !is_there)
        r = add_image(pull);
    if (r < 0)
        return r;
    return store_set_reference(&pull->store, &pull->reference, pull->image.digest, pull->err);
}

/* What the caller can do about it, where the cause alone does not say. */
static void add_remedy(struct hutch_error *err)
{
    struct hutch_error cause = *err;
    if (cause.os_errno == ENOSPC || cause.os_errno == EDQUOT)
        (void)hutch_fail(
            err, cause.code, cause.os_errno,
            "%.380s; 'hutch image prune' makes room, or set HUTCH_HOME to another disk", cause.msg);
}

int image_pull(const char *reference, const struct hutch_image_options *options,
               char ret_digest[IMAGE_DIGEST_BYTES], struct hutch_error *err)
{
    hutch_cleanup(pull_done) struct pull pull = {.store = {.dir = HUTCH_NO_FD},
                                                 .lock = HUTCH_NO_FD,
                                                 .progress = PROGRESS_INIT(options),
                                                 .image = IMAGE_INIT,
                                                 .err = err};
    char name[IMAGE_REFERENCE_BYTES];
    int r = image_reference_parse(reference, &pull.reference, err);
    if (r < 0)
        return r;
    r = pull_all(&pull, options ? options->platform : NULL);
    if (r < 0) {
        add_remedy(err);
        image_reference_format_short(&pull.reference, name);
        return hutch_wrap(err, "pull '%.150s': ", name);
    }
    memcpy(ret_digest, pull.image.digest, IMAGE_DIGEST_BYTES);
    return 0;
}
