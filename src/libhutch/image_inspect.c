/* SPDX-License-Identifier: Apache-2.0 */
/* hutch_image_inspect(): an image with its names, its layers and its configuration, as JSON. */
#include <stdio.h>
#include <string.h>

#include "hutch/image.h"
#include "image/manifest.h"
#include "image/store_add.h"
#include "libhutch/image_named.h"
#include "libhutch/scratch.h"
#include "util/json_out.h"
#include "util/own.h"

#define JSON_MAX_BYTES (16u << 20)

struct naming {
    struct hutch_json_out *out;
    const char *digest;
};

static int write_name(void *context, const struct image_reference *reference, const char *digest,
                      uint64_t changed_us)
{
    struct naming *naming = context;
    char text[IMAGE_REFERENCE_BYTES];
    (void)changed_us;
    if (strcmp(digest, naming->digest) != 0)
        return 0;
    image_reference_format(reference, text);
    hutch_json_string(naming->out, NULL, text);
    return 0;
}

static void write_layers(struct hutch_json_out *out, const struct manifest *manifest,
                         const struct hutch_strlist *diff_ids)
{
    hutch_json_open(out, "layers", '[');
    for (size_t i = 0; i < manifest->layer_count; i++) {
        const struct descriptor *layer = &manifest->layers[i];
        hutch_json_open(out, NULL, '{');
        hutch_json_string(out, "digest", layer->digest);
        hutch_json_string(out, "diff_id", i < diff_ids->count ? diff_ids->items[i] : NULL);
        hutch_json_string(out, "media_type", layer->media_type);
        hutch_json_uint(out, "size", layer->size);
        hutch_json_close(out, '}');
    }
    hutch_json_close(out, ']');
}

/* Without the white space between its words: then the whole is one line. */
static void compact(char *json)
{
    char *to = json;
    bool in_text = false;
    for (const char *at = json; *at; at++) {
        if (in_text && *at == '\\')
            *to++ = *at++;
        else if (*at == '"')
            in_text = !in_text;
        if (in_text || !strchr(" \t\r\n", *at))
            *to++ = *at;
    }
    *to = '\0';
}

static int write_image(const struct image_store *store, const struct image *image,
                       struct hutch_json_out *out, struct hutch_error *err)
{
    hutch_autofree char *manifest_text = NULL, *config_text = NULL;
    size_t manifest_length = 0, config_length = 0;
    hutch_cleanup(manifest_done) struct manifest manifest = {0};
    hutch_cleanup(image_done) struct image configured = IMAGE_INIT;
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist diff_ids = {0};
    int r = store_read_blob(store, image->digest, MANIFEST_MAX_BYTES, &manifest_text,
                            &manifest_length, err);
    if (r >= 0)
        r = manifest_parse(manifest_text, manifest_length, NULL, &manifest, err);
    if (r >= 0)
        r = store_read_blob(store, image->config_digest, CONFIG_MAX_BYTES, &config_text,
                            &config_length, err);
    if (r >= 0)
        r = config_parse(config_text, config_length, &configured, &diff_ids, err);
    if (r < 0)
        return r;
    hutch_json_string(out, "config_digest", image->config_digest);
    hutch_json_string(out, "os", image->os);
    hutch_json_string(out, "architecture", image->architecture);
    hutch_json_string(out, "variant", image->variant[0] ? image->variant : NULL);
    hutch_json_string(out, "created", image->created);
    hutch_json_uint(out, "bytes", image->bytes);
    write_layers(out, &manifest, &diff_ids);
    compact(config_text);
    hutch_json_raw(out, "config", config_text);
    return 0;
}

int hutch_image_inspect(const char *reference, char **ret_json, struct hutch_error *err)
{
    hutch_cleanup(image_store_close) struct image_store store = {.dir = HUTCH_NO_FD};
    hutch_cleanup(image_done) struct image image = IMAGE_INIT;
    hutch_cleanup(hutch_buf_done) struct hutch_buf buf = HUTCH_BUF(JSON_MAX_BYTES);
    struct hutch_json_out out = {&buf, false};
    struct naming naming = {.out = &out, .digest = image.digest};
    size_t length;
    OR_SCRATCH(err);
    int r = image_store_open(&store, false, err);
    if (r >= 0)
        r = image_named_find(&store, reference, &image, err);
    if (r < 0)
        return r;
    hutch_json_open(&out, NULL, '{');
    hutch_json_open(&out, "references", '[');
    r = store_references(&store, write_name, &naming, err);
    hutch_json_close(&out, ']');
    hutch_json_string(&out, "digest", image.digest);
    if (r >= 0)
        r = write_image(&store, &image, &out, err);
    hutch_json_close(&out, '}');
    return r < 0 ? hutch_wrap(err, "image '%.150s': ", reference)
                 : hutch_buf_take(&buf, ret_json, &length, err);
}
