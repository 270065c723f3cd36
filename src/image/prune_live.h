/* SPDX-License-Identifier: Apache-2.0 */
/* What a prune has to leave alone. */
#ifndef HUTCH_IMAGE_PRUNE_LIVE_H
#define HUTCH_IMAGE_PRUNE_LIVE_H

#include "image/store_add.h"

struct needs {
    struct hutch_strlist layers; /* "N" */
    struct hutch_strlist blobs;  /* "HEX" */
};

struct live {
    struct hutch_strlist digests;      /* of images: what names and sandboxes lead to */
    struct hutch_strlist dead_records; /* "images/HEX" */
    struct needs needs;                /* of those that live */
    struct needs dead_needs;           /* of the only one that is to go */
    bool keeps_all_layers;             /* one that is used does not tell what it needs */
    bool keeps_all_blobs;
};

/* Nobody may be adding meanwhile. A record that nobody uses is dead from here on; one that is
 * damaged as well, for nobody can use it. */
int live_find(const struct image_store *store, const struct store_prune_options *options,
              struct live *live, struct hutch_error *err) HUTCH_MUST_CHECK;
void live_done(struct live *live);

/* The names of a directory's entries. */
int live_list(const struct image_store *store, const char *path, struct hutch_strlist *names,
              struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
