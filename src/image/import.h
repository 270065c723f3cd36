/* SPDX-License-Identifier: Apache-2.0 */
/* A root filesystem as an image of one layer. */
#ifndef HUTCH_IMAGE_IMPORT_H
#define HUTCH_IMAGE_IMPORT_H

#include "hutch/image.h"
#include "image/store.h"

/* path: a directory, a tar archive in any compression, "-" for standard input. */
int import_root(const struct image_store *store, const char *path, const char *reference,
                const struct hutch_image_options *options,
                struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
