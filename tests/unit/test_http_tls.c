/* SPDX-License-Identifier: Apache-2.0 */
/* The same through TLS, with certificates made for the test, and over a unix socket. */
#include "http_world.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/un.h>

#define CLOSE "Host: a\r\nConnection: close\r\n\r\n"

/* ---- certificates ---- */

struct papers {
    char directory[64];
    char certificate[96];
    char key[96];
    struct ssl_ctx_st *tls;
};

static X509 *sign_itself(EVP_PKEY *key, const char *name)
{
    X509 *certificate = X509_new();
    assert_non_null(certificate);
    (void)X509_set_version(certificate, 2);
    (void)ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    (void)X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
    (void)X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    (void)X509_set_pubkey(certificate, key);
    X509_NAME *subject = X509_get_subject_name(certificate);
    (void)X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1,
                                     -1, 0);
    (void)X509_set_issuer_name(certificate, subject);
    assert_true(X509_sign(certificate, key, EVP_sha256()) > 0);
    return certificate;
}

static void papers_make(struct papers *papers, const char *name)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    assert_non_null(key);
    X509 *certificate = sign_itself(key, name);
    (void)snprintf(papers->directory, sizeof(papers->directory), "/tmp/test_http_tls.XXXXXX");
    assert_non_null(mkdtemp(papers->directory));
    (void)snprintf(papers->certificate, sizeof(papers->certificate), "%s/c", papers->directory);
    (void)snprintf(papers->key, sizeof(papers->key), "%s/k", papers->directory);
    FILE *file = fopen(papers->certificate, "we");
    assert_non_null(file);
    assert_int_equal(PEM_write_X509(file, certificate), 1);
    (void)fclose(file);
    file = fopen(papers->key, "we");
    assert_non_null(file);
    assert_int_equal(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL), 1);
    (void)fclose(file);
    X509_free(certificate);
    EVP_PKEY_free(key);
}

static void papers_done(struct papers *papers)
{
    (void)unlink(papers->certificate);
    (void)unlink(papers->key);
    (void)rmdir(papers->directory);
    SSL_CTX_free(papers->tls);
}

static void start_with(struct world *world, struct papers *papers, bool asks_clients)
{
    struct hutch_error err;
    papers_make(papers, "the client");
    assert_fine(http_tls_new(papers->certificate, papers->key,
                             asks_clients ? papers->certificate : NULL, &papers->tls, &err),
                &err);
    world_start(world, papers->tls);
}

/* ---- a client ---- */

static SSL *tls_open(const struct world *world, SSL_CTX **ret_context)
{
    int fd = client_open(world);
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    *ret_context = SSL_CTX_new(TLS_client_method());
    SSL *ssl = SSL_new(*ret_context);
    assert_non_null(ssl);
    (void)SSL_set_fd(ssl, fd);
    SSL_set_connect_state(ssl);
    return ssl;
}

static void tls_close(SSL *ssl, SSL_CTX *context)
{
    (void)close(SSL_get_fd(ssl));
    SSL_free(ssl);
    SSL_CTX_free(context);
}

static bool waits(SSL *ssl, int r)
{
    int why = SSL_get_error(ssl, r);
    return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE;
}

/* How many bytes came until the end, or -1. */
static ssize_t tls_ask(struct world *world, SSL *ssl, const char *request, char *answer,
                       size_t size)
{
    size_t filled = 0;
    int r;
    while ((r = SSL_write(ssl, request, (int)strlen(request))) <= 0) {
        if (!waits(ssl, r))
            return -1;
        turn(world);
    }
    for (uint64_t end = now_ms() + WAIT_MS; now_ms() < end;) {
        r = SSL_read(ssl, answer + filled, (int)(size - 1 - filled));
        if (r <= 0 && !waits(ssl, r))
            break;
        filled += r > 0 ? (size_t)r : 0;
        turn(world);
    }
    answer[filled] = '\0';
    return filled ? (ssize_t)filled : -1;
}

/* ---- tests ---- */

static void a_request_through_tls_is_answered(void **state)
{
    struct world *world = *state;
    struct papers papers = {0};
    SSL_CTX *context;
    char answer[4096];
    start_with(world, &papers, false);
    SSL *ssl = tls_open(world, &context);
    assert_true(tls_ask(world, ssl,
                        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
                        "GET https://a/b HTTP/1.1\r\n" CLOSE,
                        answer, sizeof(answer)) > 0);
    assert_memory_equal(answer, "HTTP/1.1 200 ", 13);
    assert_non_null(strstr(answer, "\r\n\r\nabcHTTP/1.1 200 "));
    assert_non_null(strstr(answer, "\r\n\r\n/b"));
    assert_true(SSL_version(ssl) >= TLS1_2_VERSION);
    tls_close(ssl, context);
    papers_done(&papers);
}

/* More than a record, to a client that is slow, and more than a record from it. */
static void much_goes_through_tls(void **state)
{
    struct world *world = *state;
    struct papers papers = {0};
    SSL_CTX *context;
    static char request[3000], answer[300000];
    start_with(world, &papers, false);
    SSL *ssl = tls_open(world, &context);
    (void)snprintf(request, sizeof(request), "GET /stream?200000 HTTP/1.1\r\n" CLOSE);
    for (uint64_t end = now_ms() + WAIT_MS; world->stream_fd < 0 && now_ms() < end;) {
        (void)SSL_write(ssl, request, (int)strlen(request));
        turn(world);
    }
    size_t written = 0, filled = 0;
    while (filled < 200000) {
        ssize_t count = write(world->stream_fd, answer, written < 200000 ? 50000 : 0);
        written += count > 0 ? (size_t)count : 0;
        turn(world);
        int r = SSL_read(ssl, answer, 10000);
        assert_true(r > 0 || waits(ssl, r));
        filled += r > 0 ? (size_t)r : 0;
    }
    tls_close(ssl, context);
    papers_done(&papers);
}

static void who_has_no_certificate_is_not_let_in(void **state)
{
    struct world *world = *state;
    struct papers papers = {0};
    SSL_CTX *context;
    char answer[4096];
    start_with(world, &papers, true);
    SSL *ssl = tls_open(world, &context);
    assert_int_equal(tls_ask(world, ssl, "GET /a HTTP/1.1\r\n" CLOSE, answer, sizeof(answer)), -1);
    assert_int_equal(world->requests, 0);
    tls_close(ssl, context);
    ssl = tls_open(world, &context);
    assert_int_equal(SSL_use_certificate_file(ssl, papers.certificate, SSL_FILETYPE_PEM), 1);
    assert_int_equal(SSL_use_PrivateKey_file(ssl, papers.key, SSL_FILETYPE_PEM), 1);
    static const char request[] = "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n";
    wait_until(world, SSL_write(ssl, request, sizeof(request) - 1) > 0);
    wait_until(world, world->waiting);
    assert_true(http_peer(world->waiting)->has_tls);
    assert_string_equal(http_peer(world->waiting)->tls_client, "the client");
    tls_close(ssl, context);
    papers_done(&papers);
}

static void plain_text_to_tls_and_old_tls_are_closed(void **state)
{
    struct world *world = *state;
    struct papers papers = {0};
    SSL_CTX *context;
    char answer[4096];
    start_with(world, &papers, false);
    ask(world, "GET /a HTTP/1.1\r\n" CLOSE, answer, sizeof(answer));
    assert_null(strstr(answer, "200 OK"));
    SSL *ssl = tls_open(world, &context);
    SSL_set_security_level(ssl, 0);
    (void)SSL_set_min_proto_version(ssl, TLS1_VERSION);
    (void)SSL_set_max_proto_version(ssl, TLS1_1_VERSION);
    assert_int_equal(tls_ask(world, ssl, "GET /a HTTP/1.1\r\n" CLOSE, answer, sizeof(answer)), -1);
    assert_int_equal(world->requests, 0);
    tls_close(ssl, context);
    papers_done(&papers);
}

static void papers_that_are_none_are_refused(void **state)
{
    struct papers papers = {0};
    struct hutch_error err;
    struct ssl_ctx_st *tls = NULL;
    (void)state;
    papers_make(&papers, "a");
    assert_int_equal(http_tls_new("/nowhere", papers.key, NULL, &tls, &err), -HUTCH_E_INVALID);
    assert_non_null(strstr(err.msg, "the certificate '/nowhere'"));
    assert_int_equal(http_tls_new(papers.certificate, papers.certificate, NULL, &tls, &err),
                     -HUTCH_E_INVALID);
    assert_int_equal(http_tls_new(papers.certificate, papers.key, papers.key, &tls, &err),
                     -HUTCH_E_INVALID);
    assert_null(tls);
    papers_done(&papers);
}

static void a_unix_socket_says_who_is_there(void **state)
{
    struct world *world = *state;
    struct hutch_error err;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char answer[4096];
    world_start(world, NULL);
    /* An abstract name, of nobody else's. */
    int length = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "hutch-test-http-%d",
                          getpid());
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    int listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listening, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(listening, 8), 0);
    assert_fine(http_server_listen(world->server, listening, NULL, &err), &err);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, size), 0);
    client_send(fd, "GET /wait HTTP/1.1\r\n" CLOSE);
    wait_until(world, world->waiting);
    const struct http_peer *peer = http_peer(world->waiting);
    assert_true(peer->is_unix);
    assert_int_equal(peer->uid, getuid());
    assert_int_equal(peer->pid, getpid());
    http_answer(world->waiting, 200, NULL, "x", 1);
    assert_true(client_read(world, fd, answer, sizeof(answer), NULL));
    (void)close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(papers_that_are_none_are_refused),
#define ONE(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
        ONE(a_request_through_tls_is_answered),
        ONE(much_goes_through_tls),
        ONE(who_has_no_certificate_is_not_let_in),
        ONE(plain_text_to_tls_and_old_tls_are_closed),
        ONE(a_unix_socket_says_who_is_there),
#undef ONE
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
