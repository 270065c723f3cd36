/* SPDX-License-Identifier: Apache-2.0 */
/* The public entry points for images that come from files and go into them. */
#include <unistd.h>

#include "backend/native/merged.h"
#include "hutch/image.h"
#include "image/archive_load.h"
#include "image/archive_save.h"
#include "image/import.h"
#include "image/layer.h"
#include "libhutch/image_named.h"
#include "libhutch/image_options.h"
#include "libhutch/scratch.h"
#include "util/own.h"

int hutch_image_import(const char *path, const char *reference,
                       const struct hutch_image_options *options, struct hutch_error *err)
{
    hutch_cleanup(image_store_close) struct image_store store = {.dir = HUTCH_NO_FD};
    OR_SCRATCH(err);
    if (image_options_check(options, IMAGE_PLATFORM_IS_ASKED, err) < 0 ||
        image_store_open(&store, true, err) < 0)
        return -(int)err->code;
    return import_root(&store, path, reference, options, err);
}

int hutch_image_export(const char *reference, int out_fd, struct hutch_error *err)
{
    hutch_cleanup(image_use_done) struct image_use use = IMAGE_USE_INIT;
    OR_SCRATCH(err);
    if (image_store_open(&use.store, false, err) < 0 ||
        image_named_find(&use.store, reference, &use.image, err) < 0)
        return -(int)err->code;
    if (use.image.layers.count == 0)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "image '%.150s' has no files", reference);
    hutch_autofd int root = merged_open(&use, err);
    if (root < 0)
        return root;
    const struct layer_pack_options options = {
        .dir = root, .out_fd = out_fd, .map_owner = layer_owners_here()};
    return layer_pack_plain(&options, err);
}

int hutch_image_save(size_t count, const char *const *references, enum hutch_image_format format,
                     int out_fd, struct hutch_error *err)
{
    hutch_cleanup(image_store_close) struct image_store store = {.dir = HUTCH_NO_FD};
    OR_SCRATCH(err);
    if (image_store_open(&store, false, err) < 0)
        return -(int)err->code;
    return save_images(&store, count, references, format, out_fd, err);
}

int hutch_image_load(const char *path, const char *name, hutch_image_fn on_image, void *userdata,
                     const struct hutch_image_options *options, struct hutch_error *err)
{
    hutch_cleanup(image_store_close) struct image_store store = {.dir = HUTCH_NO_FD};
    struct archive *archive = NULL;
    OR_SCRATCH(err);
    struct load load = {.store = &store,
                        .name = name,
                        .options = options,
                        .on_image = on_image,
                        .userdata = userdata};
    platform_here(&load.platform);
    if (image_options_check(options, IMAGE_PLATFORM_IS_ASKED, err) < 0)
        return -(int)err->code;
    if (options && options->platform && platform_parse(options->platform, &load.platform, err) < 0)
        return -(int)err->code;
    if (image_store_open(&store, true, err) < 0 || archive_open(&store, path, &archive, err) < 0)
        return -(int)err->code;
    load.archive = archive;
    int status = load_images(&load, err);
    archive_free(archive);
    return status < 0 ? hutch_wrap(err, "load '%.200s': ", path) : status;
}
