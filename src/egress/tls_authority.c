/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/tls_authority.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAY_SECONDS 86400L
#define AUTHORITY_DAYS 3650L
#define LEAF_DAYS 30L /* a session makes its own: see tls_sessions.c */
#define SERIAL_BYTES 16
#define POINT_BYTES 65 /* of P-256, not compressed */

int tls_fail(struct hutch_error *err, const char *what)
{
    char reason[160];
    ERR_error_string_n(ERR_get_error(), reason, sizeof(reason));
    return hutch_fail(err, HUTCH_E_INTERNAL, 0, "%s: %s", what, reason);
}

/* ---- keys ---- */

/* A number from 1 to below the order of the group; no other seed gives it. */
static BIGNUM *make_scalar(const uint8_t seed[EGRESS_SEED_BYTES], const EC_GROUP *group)
{
    uint8_t digest[64];
    unsigned length = sizeof(digest);
    BIGNUM *scalar = NULL;
    BIGNUM *most = BN_dup(EC_GROUP_get0_order(group));
    BN_CTX *scratch = BN_CTX_secure_new();
    if (most && scratch && BN_sub_word(most, 1) &&
        EVP_Digest(seed, EGRESS_SEED_BYTES, digest, &length, EVP_sha512(), NULL))
        scalar = BN_bin2bn(digest, (int)length, NULL);
    if (scalar && (!BN_mod(scalar, scalar, most, scratch) || !BN_add_word(scalar, 1))) {
        BN_clear_free(scalar);
        scalar = NULL;
    }
    OPENSSL_cleanse(digest, sizeof(digest));
    BN_free(most);
    BN_CTX_free(scratch);
    return scalar;
}

static bool make_point(const EC_GROUP *group, const BIGNUM *scalar, uint8_t point[POINT_BYTES])
{
    EC_POINT *product = EC_POINT_new(group);
    bool is_made = product && EC_POINT_mul(group, product, scalar, NULL, NULL, NULL) &&
                   EC_POINT_point2oct(group, product, POINT_CONVERSION_UNCOMPRESSED, point,
                                      POINT_BYTES, NULL) == POINT_BYTES;
    EC_POINT_free(product);
    return is_made;
}

static EVP_PKEY *key_of(const BIGNUM *scalar, const uint8_t point[POINT_BYTES])
{
    EVP_PKEY *key = NULL;
    OSSL_PARAM *parameters = NULL;
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
    if (builder && context &&
        OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) &&
        OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_PRIV_KEY, scalar) &&
        OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point, POINT_BYTES))
        parameters = OSSL_PARAM_BLD_to_param(builder);
    if (parameters && EVP_PKEY_fromdata_init(context) > 0 &&
        EVP_PKEY_fromdata(context, &key, EVP_PKEY_KEYPAIR, parameters) <= 0)
        key = NULL;
    OSSL_PARAM_free(parameters);
    OSSL_PARAM_BLD_free(builder);
    EVP_PKEY_CTX_free(context);
    return key;
}

static EVP_PKEY *key_from_seed(const uint8_t seed[EGRESS_SEED_BYTES])
{
    uint8_t point[POINT_BYTES];
    EC_GROUP *group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1);
    BIGNUM *scalar = group ? make_scalar(seed, group) : NULL;
    EVP_PKEY *key = scalar && make_point(group, scalar, point) ? key_of(scalar, point) : NULL;
    BN_clear_free(scalar);
    EC_GROUP_free(group);
    return key;
}

/* ---- certificates ---- */

static bool set_serial(X509 *certificate)
{
    uint8_t bytes[SERIAL_BYTES];
    if (RAND_bytes(bytes, sizeof(bytes)) != 1)
        return false;
    bytes[0] = (bytes[0] & 0x7f) | 0x40; /* positive, and of its full length */
    BIGNUM *number = BN_bin2bn(bytes, sizeof(bytes), NULL);
    bool is_set = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate));
    BN_free(number);
    return is_set;
}

static bool add_extension(X509 *certificate, X509 *issuer, int nid, const char *text)
{
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, text);
    bool is_added = extension && X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
    return is_added;
}

static bool set_common(X509 *certificate, EVP_PKEY *key, long days, const char *common_name)
{
    X509_NAME *subject = X509_get_subject_name(certificate);
    return X509_set_version(certificate, X509_VERSION_3) && set_serial(certificate) &&
           X509_gmtime_adj(X509_getm_notBefore(certificate), -DAY_SECONDS) &&
           X509_gmtime_adj(X509_getm_notAfter(certificate), days * DAY_SECONDS) &&
           X509_set_pubkey(certificate, key) &&
           X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                                      (const unsigned char *)common_name, -1, -1, 0);
}

static X509 *make_root(EVP_PKEY *key)
{
    X509 *root = X509_new();
    if (root && set_common(root, key, AUTHORITY_DAYS, "hutch sandbox authority") &&
        X509_set_issuer_name(root, X509_get_subject_name(root)) &&
        add_extension(root, root, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
        add_extension(root, root, NID_key_usage, "critical,keyCertSign") &&
        add_extension(root, root, NID_subject_key_identifier, "hash") &&
        X509_sign(root, key, EVP_sha256()))
        return root;
    X509_free(root);
    return NULL;
}

/* The common name is short of room for a long name, and nobody reads it any more. */
X509 *tls_authority_sign(const struct tls_authority *authority, const char *name)
{
    char alternative[EGRESS_NAME_BYTES + 16];
    X509 *leaf = X509_new();
    (void)snprintf(alternative, sizeof(alternative), "critical,DNS:%s", name);
    if (leaf && set_common(leaf, authority->leaf_key, LEAF_DAYS, "hutch sandbox") &&
        X509_set_issuer_name(leaf, X509_get_subject_name(authority->certificate)) &&
        add_extension(leaf, authority->certificate, NID_basic_constraints, "critical,CA:FALSE") &&
        add_extension(leaf, authority->certificate, NID_key_usage, "critical,digitalSignature") &&
        add_extension(leaf, authority->certificate, NID_ext_key_usage, "serverAuth") &&
        add_extension(leaf, authority->certificate, NID_subject_alt_name, alternative) &&
        add_extension(leaf, authority->certificate, NID_authority_key_identifier, "keyid:always") &&
        X509_sign(leaf, authority->key, EVP_sha256()))
        return leaf;
    X509_free(leaf);
    return NULL;
}

static bool write_pem(struct tls_authority *authority)
{
    BIO *memory = BIO_new(BIO_s_mem());
    int length = memory && PEM_write_bio_X509(memory, authority->certificate)
                     ? BIO_read(memory, authority->pem, sizeof(authority->pem) - 1)
                     : 0;
    BIO_free(memory);
    authority->pem[length > 0 ? length : 0] = '\0';
    return length > 0 && length < (int)sizeof(authority->pem) - 1;
}

int tls_authority_make(struct tls_authority *authority, const uint8_t seed[EGRESS_SEED_BYTES],
                       struct hutch_error *err)
{
    authority->key = key_from_seed(seed);
    authority->leaf_key = EVP_EC_gen("P-256");
    authority->certificate = authority->key ? make_root(authority->key) : NULL;
    if (!authority->leaf_key || !authority->certificate || !write_pem(authority))
        return tls_fail(err, "make the sandbox's own authority");
    return 0;
}

void tls_authority_free(struct tls_authority *authority)
{
    if (!authority)
        return;
    EVP_PKEY_free(authority->key);
    EVP_PKEY_free(authority->leaf_key);
    X509_free(authority->certificate);
    SSL_CTX_free(authority->inside);
    SSL_CTX_free(authority->outside);
    free(authority);
}
