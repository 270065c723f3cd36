/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that may not be on the disk yet.
 *
 * To wait for the disk after every file of a layer, or once for all of them, would take longer than
 * to unpack it. So a layer gets its name at once, and what it holds (how many entries, how many
 * bytes) is noted beside the id of this boot, in LIB/images/unsettled. While the machine runs there
 * is nothing to ask: what was written can be read. In a later boot everything is read from the
 * disk; the first who looks compares each noted layer with its note. A filesystem that lost power
 * has lost a file, or its end: never its size without its content. What does not match is set aside
 * as layers/N.bad, and the image counts as not there: the next pull unpacks the layer from its
 * blob, which is kept, and which was on the disk before it had a name.
 *
 *     BOOT
 *     N ENTRIES BYTES
 *     ... */
#ifndef HUTCH_IMAGE_SETTLE_H
#define HUTCH_IMAGE_SETTLE_H

#include "image/store.h"
#include "image/tree_sum.h"

/* Compares what a former boot has noted. Without such notes, three small system calls. */
int settle_check(const struct image_store *store, struct hutch_error *err) HUTCH_MUST_CHECK;
/* Notes a layer that is about to be entered under its key. What it holds is looked at where `sum`
 * is NULL. */
int settle_note(const struct image_store *store, const char *layer, const struct tree_sum *sum,
                struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
