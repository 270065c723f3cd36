/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_IMAGE_PUSH_H
#define HUTCH_IMAGE_PUSH_H

#include "hutch/image.h"
#include "image/store.h"

/* Sends an image of the store: the blobs that the registry lacks, and then the manifest that names
 * them. The options may be NULL. */
int image_push(const struct image_store *store, const struct image *image,
               const struct image_reference *to, const struct hutch_image_options *options,
               struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
