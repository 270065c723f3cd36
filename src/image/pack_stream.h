/* SPDX-License-Identifier: Apache-2.0 */
/* A directory's layer as a source to read from: it is packed in a thread of its own, into a pipe.
 * So what is packed goes into the store by the same way as what comes from elsewhere. */
#ifndef HUTCH_IMAGE_PACK_STREAM_H
#define HUTCH_IMAGE_PACK_STREAM_H

#include "image/layer.h"

struct pack_stream;

/* out_fd of the options does not count; the rest has to stay until the stream is freed. */
int pack_stream_new(const struct layer_pack_options *options, struct pack_stream **ret_stream,
                    struct hutch_error *err) HUTCH_MUST_CHECK;
/* A layer_source: the context is the struct pack_stream. Its end is that of a good layer: a failure
 * of the packing is a failure to read. */
ssize_t pack_stream_read(void *context, void *buffer, size_t size, struct hutch_error *err);
void pack_stream_free(struct pack_stream *stream);

#endif
