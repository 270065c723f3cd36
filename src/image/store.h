/* SPDX-License-Identifier: Apache-2.0 */
/* The image store, from the side of who runs images. This half needs the C library alone: it is in
 * the small program.
 *
 *     LIB/images/lock           shared: somebody is adding; exclusive: somebody is removing
 *     LIB/images/blobs/HEX      manifests, configurations and layers, checked against their name
 *     LIB/images/partial/HEX    a blob on its way; locked by who fetches it
 *     LIB/images/layers/N/      a layer, unpacked; a number, for overlayfs takes 4 KiB of names
 *     LIB/images/unpacked/KEY   which N: KEY is the layer's diff id, or the key of its whole stack
 *     LIB/images/unsettled      which of them may not be on the disk yet
 *     LIB/images/images/HEX     what a run must know of an image, by its manifest's digest: JSON
 *     LIB/images/refs/NAME      "sha256:HEX"; NAME is REGISTRY/REPOSITORY/:TAG, or /@sha256:HEX
 *     LIB/images/tmp/ID         work under way
 *     LIB/images/build/         where images are built
 *
 * (The key of a stack: implicit.h. What may not be on the disk: settle.h. Builds: build_place.h.)
 *
 * Everything is made elsewhere and renamed into place, and what it names is there before it: a
 * reference names an image record, a record names layers and blobs. So a crash leaves something
 * unnamed, which a prune removes, and never a name without its thing.
 *
 * Who uses an image holds a shared lock on its record; a prune leaves locked ones alone, and those
 * that sandboxes at rest are pinned to. */
#ifndef HUTCH_IMAGE_STORE_H
#define HUTCH_IMAGE_STORE_H

#include <limits.h>
#include <stdint.h>

#include "image/reference.h"
#include "util/strlist.h"

struct image_store {
    int dir; /* LIB/images; negative: there is none */
};

/* Whoever only looks makes nothing: then a store that is not there has dir < 0, and finds nothing.
 */
int image_store_open(struct image_store *ret_store, bool make,
                     struct hutch_error *err) HUTCH_MUST_CHECK;
void image_store_close(struct image_store *store);

/* An image that is ready to run. Its texts come from the image's author: they are data. */
struct image {
    char digest[IMAGE_DIGEST_BYTES]; /* of its manifest */
    char config_digest[IMAGE_DIGEST_BYTES];
    char os[32];
    char architecture[32];
    char variant[32];
    char *created; /* as the configuration has it; may be NULL */
    char *user;    /* "", "name", "1000:1000" */
    char *workdir; /* "" */
    char *stop_signal;
    struct hutch_strlist env;
    struct hutch_strlist entrypoint;
    struct hutch_strlist cmd;
    struct hutch_strlist labels; /* "key=value" */
    struct hutch_strlist layers; /* their N, the topmost first */
    uint64_t bytes;              /* of its layers, as they travel */
    int lock;                    /* shared, held as long as it is used */
};

#define IMAGE_INIT     \
    {                  \
        .lock = -EBADF \
    }

/* HUTCH_E_NOT_FOUND when the store does not have it, or not the whole of it. */
int image_find(const struct image_store *store, const struct image_reference *reference,
               struct image *ret_image, struct hutch_error *err) HUTCH_MUST_CHECK;
int image_find_digest(const struct image_store *store, const char *digest, struct image *ret_image,
                      struct hutch_error *err) HUTCH_MUST_CHECK;
void image_done(struct image *image);

/* The directory that holds the layers, for a mount: LIB/images/layers. */
int image_open_layers(const struct image_store *store, struct hutch_error *err) HUTCH_MUST_CHECK;
/* A regular file as the whole image shows it: the topmost layer that has the name decides,
 * whiteouts and opaque directories hide what is below, symlinks are followed inside the image only.
 * A descriptor to read, or HUTCH_E_NOT_FOUND. */
int image_open_file(const struct image_store *store, const struct image *image, const char *path,
                    struct hutch_error *err) HUTCH_MUST_CHECK;
/* The same for a directory: that of the topmost layer that has it, and its name without links
 * ("/usr/bin"; the root is ""). What it cost in directories is added to *opened. */
int image_open_directory(const struct image_store *store, const struct image *image,
                         const char *path, char ret_resolved[PATH_MAX], size_t *opened,
                         struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
