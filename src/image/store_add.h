/* SPDX-License-Identifier: Apache-2.0 */
/* The image store, from the side of who fills it. Only the complete program has this half. */
#ifndef HUTCH_IMAGE_STORE_ADD_H
#define HUTCH_IMAGE_STORE_ADD_H

#include <stddef.h>

#include "image/layer.h"
#include "image/store.h"

/* Held while something is being added, so that nothing new is pruned before it has its name. */
int store_begin_adding(const struct image_store *store, int *ret_lock,
                       struct hutch_error *err) HUTCH_MUST_CHECK;

/* ---- blobs ---- */

bool store_has_blob(const struct image_store *store, const char *digest, uint64_t *ret_size);
/* A descriptor to read. */
int store_open_blob(const struct image_store *store, const char *digest,
                    struct hutch_error *err) HUTCH_MUST_CHECK;
/* Reads and hashes it: is it what its name says? */
int store_check_blob(const struct image_store *store, const char *digest,
                     struct hutch_error *err) HUTCH_MUST_CHECK;
/* A whole small one (manifest, configuration), at most ceiling bytes, checked again. */
int store_read_blob(const struct image_store *store, const char *digest, size_t ceiling,
                    char **ret_text, size_t *ret_length, struct hutch_error *err) HUTCH_MUST_CHECK;
/* Writes a small one. */
int store_add_blob(const struct image_store *store, const void *data, size_t length,
                   char ret_digest[IMAGE_DIGEST_BYTES], struct hutch_error *err) HUTCH_MUST_CHECK;

/* A large one on its way. Of two who want the same blob one gets the writer; the other waits in
 * blob_begin until it is there (true in *ret_there, and no writer) or the first has given up. What
 * an earlier try left is taken up again: it is read and hashed first, and `have` says how much
 * there is. Who holds several writers begins them in the order of their digests and none twice:
 * two who wait for each other's would wait for ever, and so would one for its own. */
struct blob_writer;
int blob_begin(const struct image_store *store, const char *digest, uint64_t size,
               struct blob_writer **ret_writer, bool *ret_there, uint64_t *ret_have,
               struct hutch_error *err) HUTCH_MUST_CHECK;
/* More than `size` in all is a failure at once. */
int blob_write(struct blob_writer *writer, const void *data, size_t length,
               struct hutch_error *err) HUTCH_MUST_CHECK;
/* Forgets what there is: the server began again from the start. */
int blob_rewind(struct blob_writer *writer, struct hutch_error *err) HUTCH_MUST_CHECK;
/* The file, to follow what is being written with pread(); borrowed. */
int blob_descriptor(const struct blob_writer *writer);
/* Checks size and digest and gives it its name. What does not match is removed, what is too short
 * stays for the next try. The writer is to be freed all the same. */
int blob_commit(struct blob_writer *writer, struct hutch_error *err) HUTCH_MUST_CHECK;
/* After a commit or without: then what came so far stays for the next try. */
void blob_free(struct blob_writer *writer);
/* One whose digest only its content tells. */
int blob_begin_unnamed(const struct image_store *store, struct blob_writer **ret_writer,
                       struct hutch_error *err) HUTCH_MUST_CHECK;
int blob_commit_unnamed(struct blob_writer *writer, char ret_digest[IMAGE_DIGEST_BYTES],
                        uint64_t *ret_size, struct hutch_error *err) HUTCH_MUST_CHECK;

/* ---- layers ---- */

/* An empty directory LIB/images/tmp/ID/layer to unpack into; its descriptor, borrowed. */
struct layer_writer;
int layer_begin(const struct image_store *store, struct layer_writer **ret_writer, int *ret_dir,
                struct hutch_error *err) HUTCH_MUST_CHECK;
/* Gives it its number and enters it under the key. Of two with one key the first stays. The writer
 * is to be freed all the same, and what has no key goes with it. `sum` is what it holds; NULL: who
 * unpacked it does not know. */
int layer_commit(struct layer_writer *writer, const char *key, const struct tree_sum *sum,
                 char ret_name[16], struct hutch_error *err) HUTCH_MUST_CHECK;
void layer_free(struct layer_writer *writer);
/* The number of the layer with this key; false: not there. */
bool store_find_layer(const struct image_store *store, const char *key, char ret_name[16]);

/* ---- images and their names ---- */

/* Writes the record. The manifest, the configuration and every layer have to be there. One that is
 * there already stays, unless it is damaged. Layers below one whose root is opaque are left out:
 * overlayfs does not look at the attribute of a root. */
int store_add_image(const struct image_store *store, const struct image *image,
                    struct hutch_error *err) HUTCH_MUST_CHECK;
int store_set_reference(const struct image_store *store, const struct image_reference *reference,
                        const char *digest, struct hutch_error *err) HUTCH_MUST_CHECK;
/* HUTCH_E_NOT_FOUND when there is no such name. */
int store_remove_reference(const struct image_store *store, const struct image_reference *reference,
                           struct hutch_error *err) HUTCH_MUST_CHECK;
/* Every name with the digest it has, in the order of names. Anything but 0 ends it. The digest of a
 * name whose file is damaged is none. */
#define STORE_NO_DIGEST "sha256:"
typedef int store_reference_fn(void *context, const struct image_reference *reference,
                               const char *digest, uint64_t changed_us);
int store_references(const struct image_store *store, store_reference_fn *on_reference,
                     void *context, struct hutch_error *err) HUTCH_MUST_CHECK;

/* ---- removing ---- */

struct store_pruned {
    uint64_t files; /* images, layers, blobs and leftovers */
    uint64_t bytes;
};

typedef void store_pruned_fn(void *context, const char *kind, const char *name);

struct store_prune_options {
    /* Adds the digests of images that sandboxes need. It is asked when nobody can add any more, so
     * that it knows also those that came while the prune waited. May be NULL. */
    int (*add_pinned)(struct hutch_strlist *digests, struct hutch_error *err);
    bool takes_names; /* a name alone does not keep an image */
    const char *only; /* this digest, with what nothing else needs of it; NULL: everything */
    unsigned patience_ms;
    bool dry_run;             /* only tells */
    store_pruned_fn *on_item; /* may be NULL */
    void *context;
};

/* Removes everything that no name leads to, that nobody uses and that is not among the pinned
 * digests. HUTCH_E_CONFLICT while something is being added and patience has run out. */
int store_prune(const struct image_store *store, const struct store_prune_options *options,
                struct store_pruned *ret_pruned, struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
