/* SPDX-License-Identifier: Apache-2.0 */
#include "image/hash.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hash {
    EVP_MD_CTX *context;
    bool failed;
};

struct hash *hash_new(void)
{
    struct hash *hash = calloc(1, sizeof(*hash));
    if (!hash)
        return NULL;
    hash->context = EVP_MD_CTX_new();
    hash->failed = !hash->context || EVP_DigestInit_ex(hash->context, EVP_sha256(), NULL) != 1;
    return hash;
}

void hash_add(struct hash *hash, const void *data, size_t length)
{
    if (hash && !hash->failed)
        hash->failed = EVP_DigestUpdate(hash->context, data, length) != 1;
}

int hash_finish(struct hash *hash, char ret_digest[IMAGE_DIGEST_BYTES], struct hutch_error *err)
{
    unsigned char bytes[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    if (!hash || hash->failed || EVP_DigestFinal_ex(hash->context, bytes, &length) != 1 ||
        length != 32) {
        hash_free(hash);
        return hutch_fail_nomem(err);
    }
    memcpy(ret_digest, "sha256:", 8);
    for (size_t i = 0; i < length; i++)
        (void)snprintf(ret_digest + 7 + 2 * i, 3, "%02x", bytes[i]);
    hash_free(hash);
    return 0;
}

void hash_free(struct hash *hash)
{
    if (!hash)
        return;
    EVP_MD_CTX_free(hash->context);
    free(hash);
}

int hash_of(const void *data, size_t length, char ret_digest[IMAGE_DIGEST_BYTES],
            struct hutch_error *err)
{
    struct hash *hash = hash_new();
    hash_add(hash, data, length);
    return hash_finish(hash, ret_digest, err);
}
