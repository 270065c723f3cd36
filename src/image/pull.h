/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_IMAGE_PULL_H
#define HUTCH_IMAGE_PULL_H

#include "hutch/image.h"
#include "image/digest.h"
#include "util/error.h"

/* Fetches an image into the store and gives it its name there. options may be NULL. */
int image_pull(const char *reference, const struct hutch_image_options *options,
               char ret_digest[IMAGE_DIGEST_BYTES], struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
