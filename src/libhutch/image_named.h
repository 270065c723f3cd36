/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_LIBHUTCH_IMAGE_NAMED_H
#define HUTCH_LIBHUTCH_IMAGE_NAMED_H

#include "image/store.h"

/* By name, or by digest alone. The message names what was asked for. */
int image_named_find(const struct image_store *store, const char *text, struct image *ret_image,
                     struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
