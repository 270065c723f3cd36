/* SPDX-License-Identifier: Apache-2.0 */
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "http/http.h"
#include "util/error.h"

static int fail(struct hutch_error *err, const char *what, const char *path)
{
    char why[160] = "unknown reason";
    unsigned long code = ERR_peek_last_error();
    if (code)
        ERR_error_string_n(code, why, sizeof(why));
    ERR_clear_error();
    return hutch_fail(err, HUTCH_E_INVALID, 0,
                      "cannot use the %s '%s' for TLS, give a PEM file: %s", what, path, why);
}

static int use_client_ca(SSL_CTX *tls, const char *path, struct hutch_error *err)
{
    if (SSL_CTX_load_verify_locations(tls, path, NULL) != 1)
        return fail(err, "client CA", path);
    SSL_CTX_set_client_CA_list(tls, SSL_load_client_CA_file(path));
    SSL_CTX_set_verify(tls, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    return 0;
}

static int configure(SSL_CTX *tls, const char *certificate, const char *key, const char *client_ca,
                     struct hutch_error *err)
{
    static const unsigned char session_name[] = "hutch";
    if (SSL_CTX_use_certificate_chain_file(tls, certificate) != 1)
        return fail(err, "certificate", certificate);
    if (SSL_CTX_use_PrivateKey_file(tls, key, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(tls) != 1)
        return fail(err, "key", key);
    (void)SSL_CTX_set_session_id_context(tls, session_name, sizeof(session_name) - 1);
    return client_ca ? use_client_ca(tls, client_ca, err) : 0;
}

int http_tls_new(const char *certificate, const char *key, const char *client_ca,
                 struct ssl_ctx_st **ret_tls, struct hutch_error *err)
{
    SSL_CTX *tls = SSL_CTX_new(TLS_server_method());
    if (!tls)
        return hutch_fail_nomem(err);
    (void)SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION);
    (void)SSL_CTX_set_options(tls, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                       SSL_OP_IGNORE_UNEXPECTED_EOF);
    /* An idle connection keeps no buffers, and what waits may move. */
    (void)SSL_CTX_set_mode(tls, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                    SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    (void)SSL_CTX_set_session_cache_mode(tls, SSL_SESS_CACHE_OFF);
    int r = configure(tls, certificate, key, client_ca, err);
    if (r < 0) {
        SSL_CTX_free(tls);
        return r;
    }
    *ret_tls = tls;
    return 0;
}
