/* SPDX-License-Identifier: Apache-2.0 */
/* How the store's own files are named and locked: what both halves of it share. */
#ifndef HUTCH_IMAGE_STORE_FILES_H
#define HUTCH_IMAGE_STORE_FILES_H

#include <fcntl.h>

#include "image/store.h"

/* "blobs/" and 64 digits, "images/" and 64 digits. */
#define STORE_PATH_BYTES 96
#define STORE_REFERENCE_PATH_BYTES (IMAGE_REFERENCE_BYTES + 16)

/* "refs/REGISTRY/REPOSITORY/:TAG", or "/@sha256:HEX". Names of repositories have no such first
 * character, so that a name and a directory never want the same place. */
void store_reference_path(const struct image_reference *reference,
                          char ret_path[STORE_REFERENCE_PATH_BYTES]);
/* What a reference's file holds: HUTCH_E_NOT_FOUND when there is none. */
int store_read_reference(const struct image_store *store, const char *path,
                         char ret_digest[IMAGE_DIGEST_BYTES],
                         struct hutch_error *err) HUTCH_MUST_CHECK;

/* Opens a record and reads it, without a lock and without looking at its layers. */
int store_read_record(int fd, struct image *image, struct hutch_error *err) HUTCH_MUST_CHECK;

/* As hutch_read_at, of a file that one read gives whole: this is the way of every run. */
ssize_t store_read_small(int dir, const char *path, char *buffer, size_t size);

/* F_RDLCK, F_WRLCK or F_UNLCK on one byte of the file: open file description locks, which end with
 * the last copy of the descriptor, however that ends. Returns 0, or -1 with errno. */
int store_lock(int fd, short type, off_t byte, bool waits);

#endif
