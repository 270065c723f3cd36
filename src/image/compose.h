/* SPDX-License-Identifier: Apache-2.0 */
/* From layers and a configuration to an image in the store: what load, import, snapshot and build
 * have in common.
 *
 *     compose_begin  ->  compose_base? -> compose_add...  ->  compose_finish  ->  compose_name...
 *
 * Layers come from the lowest to the topmost. Nothing has a name before all of it is there, so
 * giving up at any place leaves what a prune removes. */
#ifndef HUTCH_IMAGE_COMPOSE_H
#define HUTCH_IMAGE_COMPOSE_H

#include "hutch/image.h"
#include "image/manifest.h"
#include "image/store_add.h"

struct composition {
    const struct image_store *store;
    const struct hutch_image_options *options; /* may be NULL */
    int lock;                                  /* nothing is pruned meanwhile */
    struct descriptor layers[MANIFEST_MAX_LAYERS];
    size_t count;
    struct hutch_strlist diff_ids;
    struct hutch_strlist names;         /* of the unpacked layers that count, the lowest first */
    char stack_key[IMAGE_DIGEST_BYTES]; /* of all of them; see implicit.h */
};

int compose_begin(const struct image_store *store, const struct hutch_image_options *options,
                  struct composition **ret_composition, struct hutch_error *err) HUTCH_MUST_CHECK;
void compose_free(struct composition *composition);

/* Every layer of an image that is in the store, without reading any. */
int compose_base(struct composition *composition, const struct image *image,
                 struct hutch_error *err) HUTCH_MUST_CHECK;

/* A layer as it travels. What is known of it beforehand has to be so. */
struct compose_source {
    layer_source *read;
    void *context;
    const struct descriptor *blob; /* NULL: only the content tells */
    const char *diff_id;           /* NULL: so too */
};
int compose_add(struct composition *composition, const struct compose_source *source,
                struct hutch_error *err) HUTCH_MUST_CHECK;

/* Writes the configuration, the manifest and the record. manifest: as it came, NULL: one is
 * written. The configuration has to name just these layers. */
struct compose_texts {
    const char *config;
    size_t config_length;
    const char *manifest;
    size_t manifest_length;
};
int compose_finish(struct composition *composition, const struct compose_texts *texts,
                   struct image *ret_image, struct hutch_error *err) HUTCH_MUST_CHECK;
/* Gives it a name, in full or short. */
int compose_name(struct composition *composition, const struct image *image, const char *reference,
                 struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
