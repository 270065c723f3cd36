/* SPDX-License-Identifier: Apache-2.0 */
/* Images of the store as one archive, straight to a descriptor. The same images give the same
 * bytes: no time, no owner, and an order that only what is saved decides. */
#ifndef HUTCH_IMAGE_ARCHIVE_SAVE_H
#define HUTCH_IMAGE_ARCHIVE_SAVE_H

#include "hutch/image.h"
#include "image/manifest.h"
#include "image/store_add.h"
#include "tar/out.h"
#include "tar/text.h"

struct save_image {
    struct image image;
    struct hutch_strlist names; /* in full; none when it was asked for by its digest */
    struct manifest manifest;
    struct hutch_strlist diff_ids;
    uint64_t manifest_size;
};

struct save {
    const struct image_store *store;
    struct save_image *images;
    size_t count;
    struct tar_out out;
    struct tar_text scratch;
    struct hutch_strlist written; /* names in the archive: layers are shared */
};

int save_images(const struct image_store *store, size_t count, const char *const *references,
                enum hutch_image_format format, int out_fd,
                struct hutch_error *err) HUTCH_MUST_CHECK;

/* ---- between the files of this part ---- */

/* archive_save_oci.c, archive_save_docker.c: everything but the end mark. */
int save_oci(struct save *save, struct hutch_error *err) HUTCH_MUST_CHECK;
int save_docker(struct save *save, struct hutch_error *err) HUTCH_MUST_CHECK;

/* archive_save_file.c */
/* Writes a file of the archive from memory. */
int save_text(struct save *save, const char *name, const char *text, size_t length,
              struct hutch_error *err) HUTCH_MUST_CHECK;
int save_directory(struct save *save, const char *name, struct hutch_error *err) HUTCH_MUST_CHECK;
/* Exactly size bytes from the source, which have this digest; nothing when the archive has a file
 * of this name. */
struct save_file {
    const char *name;
    uint64_t size;
    const char *digest;
    layer_source *read;
    void *context;
};
int save_stream(struct save *save, const struct save_file *file,
                struct hutch_error *err) HUTCH_MUST_CHECK;
bool save_has(const struct save *save, const char *name);

/* A layer_source: the context is an int, a descriptor. */
ssize_t save_read_fd(void *context, void *buffer, size_t size, struct hutch_error *err);

/* manifest.json as docker reads it: names of files for an image's configuration and layers. */
typedef void save_name(char *ret_name, size_t size, const char *digest);
int save_docker_manifest(struct save *save, save_name *config_name, save_name *layer_name,
                         bool layers_by_diff_id, struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
