/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_IMAGE_PULL_LAYERS_H
#define HUTCH_IMAGE_PULL_LAYERS_H

#include "image/manifest.h"
#include "image/progress.h"
#include "image/registry.h"
#include "image/store_add.h"

/* Brings every layer of an image into the store, unpacked; those that are there are left alone.
 * Their names there, the lowest first. */
int pull_layers(const struct image_store *store, struct registry *registry,
                const struct manifest *manifest, const struct hutch_strlist *diff_ids,
                struct progress *progress, struct hutch_strlist *ret_names,
                struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
