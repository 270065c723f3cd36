/* SPDX-License-Identifier: Apache-2.0 */
/* What a run must know of an image, as a file of the store. It is JSON of our own writing: whatever
 * is not as this program writes it is damage. */
#ifndef HUTCH_IMAGE_RECORD_H
#define HUTCH_IMAGE_RECORD_H

#include <stddef.h>

#include "image/store.h"

#define RECORD_LAYER_BYTES 16 /* a layer's number, with its NUL */

/* Everything but the digest, which is the record's name, and the lock. On failure the image is
 * half filled and its owner's to release. */
int record_parse(const char *text, size_t length, struct image *image,
                 struct hutch_error *err) HUTCH_MUST_CHECK;
int record_format(const struct image *image, char **ret_text, size_t *ret_length,
                  struct hutch_error *err) HUTCH_MUST_CHECK;

/* A number without a zero before it, so that no two names mean one layer. */
bool record_layer_is_valid(const char *name);

#endif
