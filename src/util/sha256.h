/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 (FIPS 180-4), for what must link nothing but the C library. */
#ifndef HUTCH_UTIL_SHA256_H
#define HUTCH_UTIL_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES 32
#define SHA256_HEX_BYTES 65 /* of its text, and a NUL */

struct sha256 {
    uint32_t state[8];
    uint64_t length; /* bytes so far */
    unsigned char block[64];
};

void sha256_begin(struct sha256 *hash);
void sha256_add(struct sha256 *hash, const void *data, size_t length);
/* The hash is of no use afterwards. */
void sha256_end(struct sha256 *hash, unsigned char ret_digest[SHA256_BYTES]);
/* The same in lower-case hexadecimal. */
void sha256_end_hex(struct sha256 *hash, char ret_text[SHA256_HEX_BYTES]);

#endif
