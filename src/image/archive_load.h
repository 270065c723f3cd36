/* SPDX-License-Identifier: Apache-2.0 */
/* Images out of an archive into the store: the layout of OCI, and that of `docker save`. */
#ifndef HUTCH_IMAGE_ARCHIVE_LOAD_H
#define HUTCH_IMAGE_ARCHIVE_LOAD_H

#include "hutch/image.h"
#include "image/archive.h"
#include "image/manifest.h"

struct load {
    const struct image_store *store;
    const struct archive *archive;
    const char *name; /* for one image that has none; NULL: such an image is refused */
    bool name_is_taken;
    struct platform platform;
    const struct hutch_image_options *options;
    hutch_image_fn on_image; /* may be NULL */
    void *userdata;
    size_t count; /* of images so far */
};

/* Every image of the archive. */
int load_images(struct load *load, struct hutch_error *err) HUTCH_MUST_CHECK;

/* ---- between the files of this part ---- */

/* archive_oci.c, archive_docker.c */
int load_oci(struct load *load, struct hutch_error *err) HUTCH_MUST_CHECK;
int load_docker(struct load *load, struct hutch_error *err) HUTCH_MUST_CHECK;

/* One image: its texts, whose digests were checked, and where its layers are. */
struct load_image {
    const char *config;
    size_t config_length;
    const char *manifest; /* NULL: it has none */
    size_t manifest_length;
    /* One for each diff id of the configuration, the lowest first. */
    const char *const *layers;
    const struct descriptor *blobs; /* NULL: the archive does not tell */
    size_t layer_count;
    const struct hutch_strlist *names;
};
int load_image(struct load *load, const struct load_image *source,
               struct hutch_error *err) HUTCH_MUST_CHECK;
/* Its names, or the one that the caller gave for one without; every one is a good reference. */
int load_settle_names(struct load *load, struct hutch_strlist *names,
                      struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
