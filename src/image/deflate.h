/* SPDX-License-Identifier: Apache-2.0 */
/* Compresses an archive into a gzip file, and hashes both. */
#ifndef HUTCH_IMAGE_DEFLATE_H
#define HUTCH_IMAGE_DEFLATE_H

#include "image/layer.h"

struct deflate;

int deflate_new(int out_fd, struct deflate **ret_deflate, struct hutch_error *err) HUTCH_MUST_CHECK;
void deflate_free(struct deflate *deflate);
/* Returns 0, or -1 with errno. The same calls give the same bytes, if the first one brings at least
 * 16: an archive begins with a block of 512. */
int deflate_write(struct deflate *deflate, const void *data, size_t length);
/* Writes the rest and tells digests and sizes. */
int deflate_finish(struct deflate *deflate, struct layer_packed *ret_packed,
                   struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
