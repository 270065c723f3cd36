/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 of bytes as they come. */
#ifndef HUTCH_IMAGE_HASH_H
#define HUTCH_IMAGE_HASH_H

#include <stddef.h>

#include "image/digest.h"
#include "util/error.h"

struct hash; /* NULL when out of memory; every function takes that and hash_finish says it */

struct hash *hash_new(void);
void hash_add(struct hash *hash, const void *data, size_t length);
/* The digest of everything added, and frees it. */
int hash_finish(struct hash *hash, char ret_digest[IMAGE_DIGEST_BYTES],
                struct hutch_error *err) HUTCH_MUST_CHECK;
void hash_free(struct hash *hash);

int hash_of(const void *data, size_t length, char ret_digest[IMAGE_DIGEST_BYTES],
            struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
