/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a blob as they were before they were compressed. What it is, the first bytes tell:
 * gzip of any number of members, zstd of any number of frames, or neither. Everything that the
 * format can check is checked, and nothing may follow but zeros after gzip. */
#ifndef HUTCH_IMAGE_INFLATE_H
#define HUTCH_IMAGE_INFLATE_H

#include "image/layer.h"

struct inflate;

/* How something is compressed that begins so: "gzip", "zstd", "xz" and "bzip2" (which are known by
 * name only), or "". So many bytes are enough. */
#define INFLATE_FRONT_BYTES 5
const char *inflate_name(const unsigned char *front, size_t length) __attribute__((nonnull));

/* Memory is bounded: a zstd window of more than 32 MiB is refused. */
int inflate_new(layer_source *source, void *context, struct inflate **ret_inflate,
                struct hutch_error *err) HUTCH_MUST_CHECK;
void inflate_free(struct inflate *inflate);
/* At least one byte and at most size: their number, 0 at the end, -1 with *err. */
ssize_t inflate_read(struct inflate *inflate, void *buffer, size_t size, struct hutch_error *err);
/* All of size, or what there is before the end. */
ssize_t inflate_fill(struct inflate *inflate, void *buffer, size_t size, struct hutch_error *err);

#endif
