/* SPDX-License-Identifier: Apache-2.0 */
/* What was written over an image becomes a layer, and with the image's own layers a new image. The
 * layers below are neither read nor copied. */
#ifndef HUTCH_IMAGE_COMMIT_H
#define HUTCH_IMAGE_COMMIT_H

#include "hutch/image.h"
#include "image/layer.h"
#include "image/store.h"

struct commit {
    const struct image_store *store;
    const struct image *base;
    const char *reference;                     /* the new image's name */
    const char *created_by;                    /* for its history */
    struct layer_pack_options upper;           /* out_fd does not count */
    const struct hutch_image_options *options; /* may be NULL */
};

int commit_image(const struct commit *commit, char ret_digest[IMAGE_DIGEST_BYTES],
                 struct hutch_error *err) HUTCH_MUST_CHECK;

/* commit_config.c: the base's configuration with one more layer. Free it with free(). */
int commit_config(const char *base, size_t length, const char *diff_id, const char *created_by,
                  char **ret_text, size_t *ret_length, struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
