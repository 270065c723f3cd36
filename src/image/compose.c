/* SPDX-License-Identifier: Apache-2.0 */
#include "image/compose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image/implicit.h"
#include "util/json_out.h"
#include "util/own.h"

int compose_begin(const struct image_store *store, const struct hutch_image_options *options,
                  struct composition **ret_composition, struct hutch_error *err)
{
    struct composition *composition = calloc(1, sizeof(*composition));
    if (!composition)
        return hutch_fail_nomem(err);
    composition->store = store;
    composition->options = options;
    composition->lock = HUTCH_NO_FD;
    if (store_begin_adding(store, &composition->lock, err) < 0) {
        compose_free(composition);
        return -(int)err->code;
    }
    *ret_composition = composition;
    return 0;
}

void compose_free(struct composition *composition)
{
    if (!composition)
        return;
    hutch_fd_close(&composition->lock);
    hutch_strlist_done(&composition->diff_ids);
    hutch_strlist_done(&composition->names);
    free(composition);
}

int compose_base(struct composition *composition, const struct image *image,
                 struct hutch_error *err)
{
    hutch_autofree char *text = NULL, *config = NULL;
    hutch_cleanup(manifest_done) struct manifest manifest = {0};
    hutch_cleanup(image_done) struct image parsed = IMAGE_INIT;
    size_t length = 0, config_length = 0;
    if (store_read_blob(composition->store, image->digest, MANIFEST_MAX_BYTES, &text, &length,
                        err) < 0 ||
        manifest_parse(text, length, NULL, &manifest, err) < 0 ||
        store_read_blob(composition->store, image->config_digest, CONFIG_MAX_BYTES, &config,
                        &config_length, err) < 0 ||
        config_parse(config, config_length, &parsed, &composition->diff_ids, err) < 0)
        return -(int)err->code;
    /* the record leaves out what a layer with an opaque root hides */
    if (manifest.layer_count < image->layers.count ||
        manifest.layer_count != composition->diff_ids.count)
        return hutch_fail(err, HUTCH_E_INTERNAL, 0,
                          "the record of image '%s' and its manifest have different layers",
                          image->digest);
    for (size_t i = 0; i < manifest.layer_count; i++) {
        composition->layers[i] = manifest.layers[i];
        if (implicit_stack_key(composition->stack_key, composition->diff_ids.items[i],
                               composition->stack_key, err) < 0)
            return -(int)err->code;
    }
    for (size_t i = image->layers.count; i > 0; i--) /* the record has the topmost first */
        if (hutch_strlist_add(&composition->names, image->layers.items[i - 1], err) < 0)
            return -(int)err->code;
    composition->count = manifest.layer_count;
    return 0;
}

static void put_descriptor(struct hutch_json_out *out, const char *key,
                           const struct descriptor *descriptor)
{
    hutch_json_open(out, key, '{');
    hutch_json_string(out, "mediaType", descriptor->media_type);
    hutch_json_string(out, "digest", descriptor->digest);
    hutch_json_uint(out, "size", descriptor->size);
    hutch_json_close(out, '}');
}

static int write_manifest(const struct composition *composition, const struct descriptor *config,
                          char ret_digest[IMAGE_DIGEST_BYTES], struct hutch_error *err)
{
    struct hutch_buf buf = HUTCH_BUF(MANIFEST_MAX_BYTES);
    struct hutch_json_out out = {.buf = &buf};
    hutch_autofree char *text = NULL;
    size_t length = 0;
    hutch_json_open(&out, NULL, '{');
    hutch_json_uint(&out, "schemaVersion", 2);
    hutch_json_string(&out, "mediaType", MEDIA_OCI_MANIFEST);
    put_descriptor(&out, "config", config);
    hutch_json_open(&out, "layers", '[');
    for (size_t i = 0; i < composition->count; i++)
        put_descriptor(&out, NULL, &composition->layers[i]);
    hutch_json_close(&out, ']');
    hutch_json_close(&out, '}');
    if (hutch_buf_take(&buf, &text, &length, err) < 0)
        return -(int)err->code;
    return store_add_blob(composition->store, text, length, ret_digest, err);
}

static int check_diff_ids(const struct composition *composition,
                          const struct hutch_strlist *diff_ids, struct hutch_error *err)
{
    if (diff_ids->count != composition->count)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "the image has %zu layers, but its configuration names %zu",
                          composition->count, diff_ids->count);
    for (size_t i = 0; i < diff_ids->count; i++)
        if (strcmp(diff_ids->items[i], composition->diff_ids.items[i]) != 0)
            return hutch_fail(err, HUTCH_E_INVALID, 0,
                              "layer %zu is '%s', but the image's configuration names '%s'", i + 1,
                              composition->diff_ids.items[i], diff_ids->items[i]);
    return 0;
}

static int fill_image(const struct composition *composition, struct image *image,
                      struct hutch_error *err)
{
    image->bytes = 0;
    for (size_t i = 0; i < composition->count; i++)
        image->bytes += composition->layers[i].size;
    for (size_t i = composition->names.count; i > 0; i--)
        if (hutch_strlist_add(&image->layers, composition->names.items[i - 1], err) < 0)
            return -(int)err->code;
    return 0;
}

int compose_finish(struct composition *composition, const struct compose_texts *texts,
                   struct image *ret_image, struct hutch_error *err)
{
    hutch_cleanup(image_done) struct image image = IMAGE_INIT;
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist diff_ids = {0};
    struct descriptor config = {.media_type = MEDIA_OCI_CONFIG, .size = texts->config_length};
    if (config_parse(texts->config, texts->config_length, &image, &diff_ids, err) < 0 ||
        check_diff_ids(composition, &diff_ids, err) < 0 ||
        store_add_blob(composition->store, texts->config, texts->config_length, config.digest,
                       err) < 0)
        return -(int)err->code;
    int status = texts->manifest ? store_add_blob(composition->store, texts->manifest,
                                                  texts->manifest_length, image.digest, err)
                                 : write_manifest(composition, &config, image.digest, err);
    if (status < 0 || fill_image(composition, &image, err) < 0)
        return -(int)err->code;
    memcpy(image.config_digest, config.digest, sizeof(image.config_digest));
    if (store_add_image(composition->store, &image, err) < 0)
        return -(int)err->code;
    *ret_image = image;
    image = (struct image)IMAGE_INIT;
    return 0;
}

int compose_name(struct composition *composition, const struct image *image, const char *reference,
                 struct hutch_error *err)
{
    struct image_reference parsed;
    if (image_reference_parse(reference, &parsed, err) < 0)
        return -(int)err->code;
    return store_set_reference(composition->store, &parsed, image->digest, err);
}
