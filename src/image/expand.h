/* SPDX-License-Identifier: Apache-2.0 */
/* Archives in compressions that layers do not have: xz, bzip2 and lzma, by the programs of those
 * names. What is in another compression, or in none, passes as it is. */
#ifndef HUTCH_IMAGE_EXPAND_H
#define HUTCH_IMAGE_EXPAND_H

#include "image/layer.h"

struct expand;

/* The descriptor is borrowed. */
int expand_new(int fd, struct expand **ret_expand, struct hutch_error *err) HUTCH_MUST_CHECK;
/* A layer_source: the context is the struct expand. */
ssize_t expand_read(void *context, void *buffer, size_t size, struct hutch_error *err);
void expand_free(struct expand *expand);

#endif
