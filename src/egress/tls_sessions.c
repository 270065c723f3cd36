/* SPDX-License-Identifier: Apache-2.0 */
/* TLS that is intercepted: towards the sandbox with a certificate of its own authority, towards the
 * server as a client that trusts what the host trusts and insists on the name. HTTP/1.1 is all that
 * is offered either way, for requests are read.
 *
 * OpenSSL never sees a socket: what was read is put into one memory, what is to be written is taken
 * out of another. So a session needs nothing but its bytes, and each of its calls says whether it
 * has to wait. */
#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "egress/gateway.h"
#include "egress/program.h"
#include "egress/tls_authority.h"
#include "util/own.h"

#define RECORD_BYTES 17408 /* the largest record, with all that is around it */

struct session {
    SSL *ssl;
    BIO *incoming; /* the SSL's own */
    BIO *outgoing;
    bool has_ended; /* nothing more comes */
};

/* ---- contexts ---- */

static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_length,
                           const unsigned char *in, unsigned in_length, void *userdata)
{
    static const unsigned char http[] = "\x08http/1.1";
    (void)ssl, (void)userdata;
    unsigned char *chosen = NULL;
    int found = SSL_select_next_proto(&chosen, out_length, http, sizeof(http) - 1, in, in_length);
    *out = chosen;
    return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

static SSL_CTX *make_context(const SSL_METHOD *method)
{
    SSL_CTX *context = SSL_CTX_new(method);
    if (!context || !SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION)) {
        SSL_CTX_free(context);
        return NULL;
    }
    (void)SSL_CTX_set_options(context,
                              SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
    (void)SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    (void)SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE |
                                        SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                        SSL_MODE_RELEASE_BUFFERS);
    return context;
}

/* What the host's own programs trust. */
static bool trust_host(SSL_CTX *context)
{
    static const char *const bundles[] = {"/etc/ssl/certs/ca-certificates.crt",
                                          "/etc/pki/tls/certs/ca-bundle.crt",
                                          "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};
    for (size_t i = 0; i < HUTCH_COUNT(bundles); i++)
        if (access(bundles[i], R_OK) == 0)
            return SSL_CTX_load_verify_file(context, bundles[i]) == 1;
    return SSL_CTX_set_default_verify_paths(context) == 1;
}

static int open_authority(const struct order *order, void **ret_authority,
                          const char **ret_certificate, struct hutch_error *err)
{
    struct tls_authority *authority = calloc(1, sizeof(*authority));
    if (!authority)
        return hutch_fail_nomem(err);
    const uint8_t *seed = (const uint8_t *)order_text(order, order->head->authority);
    int r = order->head->authority
                ? tls_authority_make(authority, seed, err)
                : hutch_fail(err, HUTCH_E_INTERNAL, 0, "an order without a seed");
    if (r == 0) {
        authority->inside = make_context(TLS_server_method());
        authority->outside = make_context(TLS_client_method());
        if (!authority->inside || !authority->outside || !trust_host(authority->outside))
            r = tls_fail(err, "read the certificates that this host trusts");
    }
    if (r < 0) {
        tls_authority_free(authority);
        return r;
    }
    SSL_CTX_set_alpn_select_cb(authority->inside, choose_protocol, NULL);
    SSL_CTX_set_verify(authority->outside, SSL_VERIFY_PEER, NULL);
    *ret_authority = authority;
    *ret_certificate = authority->pem;
    return 0;
}

/* ---- who is intercepted ---- */

static bool wants(const struct order *order, const char *name, uint16_t port)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    for (size_t i = 0; order && i < order->secret_count; i++) {
        const struct egress_secret *secret = &order->secrets[i];
        const char *host = order_text(order, secret->hosts);
        for (uint32_t n = 0; secret->intercepts_tls && n < secret->host_count; n++) {
            struct egress_rule rule;
            if (egress_rule_parse(host, &rule, &ignored) == 0 &&
                egress_rule_allows(&rule, name, port))
                return true;
            host += strlen(host) + 1;
        }
    }
    return false;
}

/* ---- sessions ---- */

static void session_release(void *opaque)
{
    struct session *session = opaque;
    SSL_free(session->ssl);
    free(session);
}

static struct session *session_new(SSL_CTX *context)
{
    struct session *session = calloc(1, sizeof(*session));
    if (!session)
        return NULL;
    session->ssl = SSL_new(context);
    session->incoming = BIO_new(BIO_s_mem());
    session->outgoing = BIO_new(BIO_s_mem());
    if (!session->ssl || !session->incoming || !session->outgoing) {
        BIO_free(session->incoming);
        BIO_free(session->outgoing);
        session_release(session);
        return NULL;
    }
    (void)BIO_set_mem_eof_return(session->incoming, -1);
    SSL_set_bio(session->ssl, session->incoming, session->outgoing);
    return session;
}

static void *session_accept(void *opaque, const char *name)
{
    struct tls_authority *authority = opaque;
    struct session *session = session_new(authority->inside);
    X509 *leaf = session ? tls_authority_sign(authority, name) : NULL;
    bool is_good = leaf && SSL_use_certificate(session->ssl, leaf) == 1 &&
                   SSL_use_PrivateKey(session->ssl, authority->leaf_key) == 1;
    X509_free(leaf);
    if (!is_good) {
        if (session)
            session_release(session);
        return NULL;
    }
    SSL_set_accept_state(session->ssl);
    return session;
}

static void *session_connect(void *opaque, const char *name)
{
    static const unsigned char http[] = "\x08http/1.1";
    struct tls_authority *authority = opaque;
    struct session *session = session_new(authority->outside);
    if (!session)
        return NULL;
    SSL_set_hostflags(session->ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (SSL_set1_host(session->ssl, name) != 1 ||
        SSL_set_tlsext_host_name(session->ssl, name) != 1 ||
        SSL_set_alpn_protos(session->ssl, http, sizeof(http) - 1) != 0) {
        session_release(session);
        return NULL;
    }
    SSL_set_connect_state(session->ssl);
    return session;
}

static bool session_feed(void *opaque, const void *data, size_t length)
{
    struct session *session = opaque;
    size_t written = 0;
    return BIO_write_ex(session->incoming, data, length, &written) == 1 && written == length;
}

/* All that is to be sent, as far as the socket takes it. 0: all of it, -1 with errno. */
static int flush(struct session *session, int fd)
{
    char *data = NULL;
    long length;
    while ((length = BIO_get_mem_data(session->outgoing, &data)) > 0) {
        ssize_t sent = send(fd, data, (size_t)length, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return -1;
        char dropped[RECORD_BYTES];
        for (size_t left = (size_t)sent; left;) {
            size_t got = 0;
            size_t part = left < sizeof(dropped) ? left : sizeof(dropped);
            if (BIO_read_ex(session->outgoing, dropped, part, &got) != 1)
                break;
            left -= got;
        }
    }
    return 0;
}

/* What has come. 1: something, 0: nothing more ever, -1 with errno. */
static int take(struct session *session, int fd)
{
    char data[RECORD_BYTES];
    ssize_t got = recv(fd, data, sizeof(data), MSG_DONTWAIT);
    if (got < 0)
        return -1;
    if (got == 0) {
        session->has_ended = true;
        return 0;
    }
    if (session_feed(session, data, (size_t)got))
        return 1;
    errno = ENOMEM;
    return -1;
}

/* What to do after a call that has not succeeded: 1: again, 0: it is the end, -1 with errno. */
static int settle(struct session *session, int fd, int result)
{
    int why = SSL_get_error(session->ssl, result);
    int saved = flush(session, fd) < 0 ? errno : 0; /* an alert, a part of a handshake */
    if (why == SSL_ERROR_ZERO_RETURN)
        return 0;
    if (why == SSL_ERROR_WANT_READ && !session->has_ended) {
        int got = take(session, fd);
        if (got)
            return got;
    }
    if (why == SSL_ERROR_WANT_READ && SSL_is_init_finished(session->ssl))
        return 0; /* without a farewell, as many servers do */
    errno = saved && saved != EAGAIN ? saved : EPROTO;
    return -1;
}

static ssize_t session_read(void *opaque, int fd, void *data, size_t length)
{
    struct session *session = opaque;
    for (;;) {
        size_t got = 0;
        ERR_clear_error();
        int result = SSL_read_ex(session->ssl, data, length, &got);
        if (result == 1) {
            (void)flush(session, fd);
            return (ssize_t)got;
        }
        int next = settle(session, fd, result);
        if (next <= 0)
            return next;
    }
}

/* Nothing new while something waits: a session holds one record at most. */
static ssize_t session_write(void *opaque, int fd, const void *data, size_t length)
{
    struct session *session = opaque;
    if (flush(session, fd) < 0)
        return -1;
    for (;;) {
        size_t put = 0;
        ERR_clear_error();
        int result = SSL_write_ex(session->ssl, data, length, &put);
        if (result == 1) {
            if (flush(session, fd) < 0 && errno != EAGAIN)
                return -1;
            return (ssize_t)put;
        }
        int next = settle(session, fd, result);
        if (next <= 0) {
            errno = next == 0 ? EPIPE : errno;
            return -1;
        }
    }
}

static bool session_end(void *opaque, int fd)
{
    struct session *session = opaque;
    ERR_clear_error();
    if (SSL_is_init_finished(session->ssl) && !(SSL_get_shutdown(session->ssl) & SSL_SENT_SHUTDOWN))
        (void)SSL_shutdown(session->ssl);
    return flush(session, fd) == 0 || errno != EAGAIN;
}

static bool has_bad_certificate(void *opaque)
{
    struct session *session = opaque;
    return SSL_get_verify_result(session->ssl) != X509_V_OK;
}

static const struct tls_ops openssl_ops = {
    .open = open_authority,
    .wants = wants,
    .accept = session_accept,
    .connect = session_connect,
    .feed = session_feed,
    .read = session_read,
    .write = session_write,
    .end = session_end,
    .has_bad_certificate = has_bad_certificate,
    .release = session_release,
};

int egress_program_main(void)
{
    return gateway_main(&openssl_ops);
}
