/* SPDX-License-Identifier: Apache-2.0 */
/* A layer's uncompressed bytes, made ready by a thread of their own: it reads the source,
 * decompresses and hashes, while the caller's thread makes files of what came before. Between them
 * are a few buffers. */
#ifndef HUTCH_IMAGE_FEED_H
#define HUTCH_IMAGE_FEED_H

#include "image/layer.h"

struct feed;

/* More than max_bytes is a failure. */
int feed_start(layer_source *source, void *context, uint64_t max_bytes, struct feed **ret_feed,
               struct hutch_error *err) HUTCH_MUST_CHECK;
/* The next bytes, valid until the next call: their number, 0 at the end, -1 with errno EIO; then
 * feed_finish tells more. */
ssize_t feed_next(struct feed *feed, const char **ret_data);
/* Takes what nobody has read, to the end, and gives the digest and the number of all bytes. */
int feed_finish(struct feed *feed, char ret_digest[IMAGE_DIGEST_BYTES], uint64_t *ret_bytes,
                struct hutch_error *err) HUTCH_MUST_CHECK;
/* Has the thread itself failed? Then *err says of what. */
bool feed_has_failed(struct feed *feed, struct hutch_error *err);
/* Ends the thread, as soon as the source returns. */
void feed_free(struct feed *feed);

#endif
