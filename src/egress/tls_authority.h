/* SPDX-License-Identifier: Apache-2.0 */
/* The authority of one sandbox: a key and a certificate that nothing but this sandbox trusts, and
 * certificates for names that it signs. Its key is made of the seed in the order, so that the next
 * gateway of the sandbox has the same. */
#ifndef HUTCH_EGRESS_TLS_AUTHORITY_H
#define HUTCH_EGRESS_TLS_AUTHORITY_H

#include <openssl/ssl.h>
#include <stdint.h>

#include "egress/link.h"
#include "util/error.h"

struct tls_authority {
    EVP_PKEY *key;
    X509 *certificate;
    char pem[EGRESS_TEXT_BYTES]; /* of the certificate */
    EVP_PKEY *leaf_key;          /* of all names */
    SSL_CTX *inside;             /* as a server to the sandbox */
    SSL_CTX *outside;            /* as a client to servers */
};

int tls_authority_make(struct tls_authority *authority, const uint8_t seed[EGRESS_SEED_BYTES],
                       struct hutch_error *err);
/* A new certificate for this name alone, NULL when there is no memory. */
X509 *tls_authority_sign(const struct tls_authority *authority, const char *name);
void tls_authority_free(struct tls_authority *authority);

/* The last failure of OpenSSL's, as a sentence. */
int tls_fail(struct hutch_error *err, const char *what);

#endif
