/* SPDX-License-Identifier: Apache-2.0 */
/* Directories that a layer has without mentioning them: their content is in the archive, they are
 * not. Whoever unpacks one layer over the other finds them made by a layer below, with its mode,
 * owner and times, or finds a symlink there and goes where it leads. Layers here are unpacked each
 * for itself, and what they have hides what is below. So such a directory takes over what it would
 * have found, and if that is a symlink, its content moves to where it leads inside the image.
 *
 * A layer that was changed in this way fits one stack of layers only. It is entered in the store
 * under a key that names all of the stack, and the others under their diff id alone. */
#ifndef HUTCH_IMAGE_IMPLICIT_H
#define HUTCH_IMAGE_IMPLICIT_H

#include "image/store_add.h"

/* The key of a layer on a stack: `below` is the key of the stack beneath it, "" when there is none.
 */
int implicit_stack_key(const char *below, const char *diff_id, char ret_key[IMAGE_DIGEST_BYTES],
                       struct hutch_error *err) HUTCH_MUST_CHECK;
/* Is it unpacked already, for any stack or for this one? */
bool implicit_find(const struct image_store *store, const char *diff_id, const char *stack_key,
                   char ret_name[16]);

/* Makes a layer that was unpacked into `dir` fit the layers below (their names, the lowest first),
 * and tells the key for layer_commit. */
int implicit_settle(const struct image_store *store, int dir, const struct layer_result *result,
                    const struct hutch_strlist *below, const char *stack_key,
                    char ret_key[IMAGE_DIGEST_BYTES], struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
