/* SPDX-License-Identifier: Apache-2.0 */
#include "image/archive_save.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tar/format.h"
#include "util/json_out.h"
#include "util/own.h"

/* ---- what is saved --------------------------------------------------------------------------- */

static int read_texts(const struct image_store *store, struct save_image *saved,
                      struct hutch_error *err)
{
    hutch_autofree char *manifest = NULL, *config = NULL;
    hutch_cleanup(image_done) struct image parsed = IMAGE_INIT;
    size_t length = 0, config_length = 0;
    if (store_read_blob(store, saved->image.digest, MANIFEST_MAX_BYTES, &manifest, &length, err) <
            0 ||
        manifest_parse(manifest, length, NULL, &saved->manifest, err) < 0 ||
        store_read_blob(store, saved->image.config_digest, CONFIG_MAX_BYTES, &config,
                        &config_length, err) < 0 ||
        config_parse(config, config_length, &parsed, &saved->diff_ids, err) < 0)
        return -(int)err->code;
    saved->manifest_size = length;
    return manifest_check_layers(&saved->manifest, &saved->diff_ids, err);
}

static struct save_image *find_saved(const struct save *save, const char *digest)
{
    for (size_t i = 0; i < save->count; i++)
        if (!strcmp(save->images[i].image.digest, digest))
            return &save->images[i];
    return NULL;
}

static int add_name(struct save_image *saved, const struct image_reference *reference,
                    struct hutch_error *err)
{
    char full[IMAGE_REFERENCE_BYTES];
    image_reference_format(reference, full);
    if (reference->digest[0] || hutch_strlist_has(&saved->names, full))
        return 0;
    return hutch_strlist_add(&saved->names, full, err);
}

static int add_image(struct save *save, const char *text, struct hutch_error *err)
{
    hutch_cleanup(image_done) struct image image = IMAGE_INIT;
    struct image_reference reference = {0};
    bool is_digest = image_digest_is_valid(text);
    if (is_digest)
        memcpy(reference.digest, text, sizeof(reference.digest));
    else if (image_reference_parse(text, &reference, err) < 0)
        return -(int)err->code;
    if (is_digest ? image_find_digest(save->store, text, &image, err) < 0
                  : image_find(save->store, &reference, &image, err) < 0)
        return hutch_wrap(err, "image '%.150s': ", text);
    struct save_image *saved = find_saved(save, image.digest);
    if (!saved) {
        saved = &save->images[save->count++];
        saved->image = image;
        image = (struct image)IMAGE_INIT;
        if (read_texts(save->store, saved, err) < 0)
            return -(int)err->code;
    }
    return add_name(saved, &reference, err);
}

/* ---- docker's list --------------------------------------------------------------------------- */

static void put_names(struct hutch_json_out *out, const struct save_image *saved,
                      save_name *layer_name, bool layers_by_diff_id)
{
    char name[128];
    hutch_json_open(out, "RepoTags", '[');
    for (size_t i = 0; i < saved->names.count;
         i++) /* in full: podman takes short ones for its own */
        hutch_json_string(out, NULL, saved->names.items[i]);
    hutch_json_close(out, ']');
    hutch_json_open(out, "Layers", '[');
    for (size_t i = 0; i < saved->manifest.layer_count; i++) {
        layer_name(name, sizeof(name),
                   layers_by_diff_id ? saved->diff_ids.items[i] : saved->manifest.layers[i].digest);
        hutch_json_string(out, NULL, name);
    }
    hutch_json_close(out, ']');
}

int save_docker_manifest(struct save *save, save_name *config_name, save_name *layer_name,
                         bool layers_by_diff_id, struct hutch_error *err)
{
    struct hutch_buf buf = HUTCH_BUF(64u << 20);
    struct hutch_json_out out = {.buf = &buf};
    hutch_autofree char *text = NULL;
    char name[128];
    size_t length = 0;
    hutch_json_open(&out, NULL, '[');
    for (size_t i = 0; i < save->count; i++) {
        hutch_json_open(&out, NULL, '{');
        config_name(name, sizeof(name), save->images[i].image.config_digest);
        hutch_json_string(&out, "Config", name);
        put_names(&out, &save->images[i], layer_name, layers_by_diff_id);
        hutch_json_close(&out, '}');
    }
    hutch_json_close(&out, ']');
    if (hutch_buf_take(&buf, &text, &length, err) < 0)
        return -(int)err->code;
    return save_text(save, "manifest.json", text, length, err);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void save_done(struct save *save)
{
    for (size_t i = 0; i < save->count; i++) {
        struct save_image *saved = &save->images[i];
        image_done(&saved->image);
        hutch_strlist_done(&saved->names);
        hutch_strlist_done(&saved->diff_ids);
        manifest_done(&saved->manifest);
    }
    free(save->images);
    hutch_strlist_done(&save->written);
    tar_text_done(&save->scratch);
    tar_out_done(&save->out);
}

static int write_archive(struct save *save, enum hutch_image_format format, int out_fd,
                         struct hutch_error *err)
{
    if (tar_out_init(&save->out, out_fd, NULL, NULL) < 0)
        return hutch_fail_nomem(err);
    if ((format == HUTCH_IMAGE_DOCKER ? save_docker(save, err) : save_oci(save, err)) < 0)
        return -(int)err->code;
    if (tar_out_zeros(&save->out, (uint64_t)2 * TAR_BLOCK) < 0 || tar_out_flush(&save->out) < 0)
        return hutch_fail_errno(err, errno, "write the archive");
    return 0;
}

int save_images(const struct image_store *store, size_t count, const char *const *references,
                enum hutch_image_format format, int out_fd, struct hutch_error *err)
{
    hutch_cleanup(save_done) struct save save = {.store = store};
    save.images = calloc(count + 1, sizeof(*save.images));
    if (!save.images)
        return hutch_fail_nomem(err);
    for (size_t i = 0; i < count; i++)
        if (add_image(&save, references[i], err) < 0)
            return -(int)err->code;
    return write_archive(&save, format, out_fd, err);
}
