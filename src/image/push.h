/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_IMAGE_PUSH_H
#define HUTCH_IMAGE_PUSH_H

#include <stdint.h>

#include "image/reference.h"

/* One step, as struct hutch_image_progress has it. */
typedef void image_push_fn(void *context, const char *action, const char *item, uint64_t done,
                           uint64_t total);

/* Sends an image of the store: the blobs that the registry lacks, and then the manifest that names
 * them. */
int image_push(const struct image_reference *reference, const struct image_reference *to,
               image_push_fn *on_step, void *context, struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
