/* SPDX-License-Identifier: Apache-2.0 */
#include "image/archive_load.h"

#include <stdio.h>
#include <string.h>

#include "image/compose.h"
#include "util/own.h"

int load_settle_names(struct load *load, struct hutch_strlist *names, struct hutch_error *err)
{
    struct image_reference parsed;
    if (names->count == 0 && !load->name)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "the archive has an image without a name; say what to call it");
    if (names->count == 0 && load->name_is_taken)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "the archive has several images without a name, and '%.200s' can be "
                          "that of one only",
                          load->name);
    if (names->count == 0) {
        load->name_is_taken = true;
        if (hutch_strlist_add(names, load->name, err) < 0)
            return -(int)err->code;
    }
    for (size_t i = 0; i < names->count; i++)
        if (image_reference_parse(names->items[i], &parsed, err) < 0)
            return -(int)err->code;
    return 0;
}

static int add_layer(struct composition *composition, const struct load *load,
                     const struct load_image *image, size_t i, const char *diff_id,
                     struct hutch_error *err)
{
    hutch_cleanup(archive_file_done) struct archive_file file = ARCHIVE_FILE_INIT;
    struct descriptor plain = {.media_type = MEDIA_OCI_LAYER};
    struct compose_source source = {.read = archive_file_read,
                                    .context = &file,
                                    .blob = image->blobs ? &image->blobs[i] : NULL,
                                    .diff_id = diff_id};
    if (archive_find(load->archive, image->layers[i], &file, err) < 0)
        return -(int)err->code;
    if (source.blob && source.blob->size != file.left)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "'%.200s' has %llu bytes in the archive, but %llu by its manifest",
                          image->layers[i], (unsigned long long)file.left,
                          (unsigned long long)source.blob->size);
    if (!source.blob && !archive_is_compressed(file.fd, file.at)) {
        /* then it is what the diff id is of, and may be there already */
        memcpy(plain.digest, diff_id, sizeof(plain.digest));
        plain.size = file.left;
        source.blob = &plain;
    }
    if (compose_add(composition, &source, err) < 0)
        return hutch_wrap(err, "layer %zu, '%.100s': ", i + 1, image->layers[i]);
    return 0;
}

static int tell_image(struct load *load, const struct image *image, const char *name)
{
    struct image_reference parsed;
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    char full[IMAGE_REFERENCE_BYTES], brief[IMAGE_REFERENCE_BYTES], platform[100];
    if (!load->on_image || image_reference_parse(name, &parsed, &ignored) < 0)
        return 0;
    image_reference_format(&parsed, full);
    image_reference_format_short(&parsed, brief);
    (void)snprintf(platform, sizeof(platform), "%s/%s%s%s", image->os, image->architecture,
                   image->variant[0] ? "/" : "", image->variant);
    struct hutch_image_info info = {.reference = full,
                                    .name = brief,
                                    .digest = image->digest,
                                    .platform = platform,
                                    .created = image->created,
                                    .bytes = image->bytes,
                                    .layers = image->layers.count};
    return load->on_image(load->userdata, &info);
}

static int compose_image(struct composition *composition, struct load *load,
                         const struct load_image *source, struct image *ret_image,
                         struct hutch_error *err)
{
    hutch_cleanup(image_done) struct image parsed = IMAGE_INIT;
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist diff_ids = {0};
    const struct compose_texts texts = {source->config, source->config_length, source->manifest,
                                        source->manifest_length};
    if (config_parse(source->config, source->config_length, &parsed, &diff_ids, err) < 0)
        return -(int)err->code;
    if (diff_ids.count != source->layer_count)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "the image has %zu layers, but its configuration names %zu",
                          source->layer_count, diff_ids.count);
    for (size_t i = 0; i < diff_ids.count; i++)
        if (add_layer(composition, load, source, i, diff_ids.items[i], err) < 0)
            return -(int)err->code;
    return compose_finish(composition, &texts, ret_image, err);
}

int load_image(struct load *load, const struct load_image *source, struct hutch_error *err)
{
    hutch_cleanup(image_done) struct image image = IMAGE_INIT;
    struct composition *composition = NULL;
    if (compose_begin(load->store, load->options, &composition, err) < 0)
        return -(int)err->code;
    int status = compose_image(composition, load, source, &image, err);
    for (size_t i = 0; i < source->names->count && status == 0; i++)
        status = compose_name(composition, &image, source->names->items[i], err);
    compose_free(composition);
    for (size_t i = 0; i < source->names->count && status == 0; i++)
        status = tell_image(load, &image, source->names->items[i]);
    load->count++;
    return status;
}

int load_images(struct load *load, struct hutch_error *err)
{
    int status = 0;
    if (archive_has(load->archive, "index.json"))
        status = load_oci(load, err);
    else if (archive_has(load->archive, "manifest.json"))
        status = load_docker(load, err);
    else
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "it is no archive of images: it has neither 'index.json', as an OCI "
                          "layout has, nor 'manifest.json', as 'docker save' writes it; for the "
                          "files of a root filesystem there is 'hutch image import'");
    if (status == 0 && load->count == 0)
        return hutch_fail(err, HUTCH_E_NOT_FOUND, 0, "the archive has no image for %s/%s",
                          load->platform.os, load->platform.architecture);
    return status;
}
