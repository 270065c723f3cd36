/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes to and from a client, in plain text or through TLS, and those that it does not take. */
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <string.h>
#include <sys/socket.h>

#include "http/connection.h"
#include "util/own.h"

/* ---- TLS ---- */

int transport_start_tls(struct connection *connection, struct ssl_ctx_st *tls)
{
    connection->ssl = SSL_new(tls);
    if (!connection->ssl || !SSL_set_fd(connection->ssl, connection->fd))
        return -1;
    SSL_set_accept_state(connection->ssl);
    return 0;
}

/* The name in the client's certificate, once: when its first bytes are here the handshake is
 * over. */
static void note_certificate(struct connection *connection)
{
    struct http_peer *about = &connection->peer->about;
    if (about->tls_client[0])
        return;
    X509 *certificate = SSL_get0_peer_certificate(connection->ssl);
    if (certificate)
        (void)X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName,
                                        about->tls_client, sizeof(about->tls_client));
}

/* As errno would say it. */
static ssize_t tls_result(struct connection *connection, int r, bool is_read)
{
    switch (SSL_get_error(connection->ssl, r)) {
    case SSL_ERROR_WANT_WRITE:
        connection->tls_wants_write |= is_read;
        errno = EAGAIN;
        return -1;
    case SSL_ERROR_WANT_READ:
        errno = EAGAIN;
        return -1;
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    default:
        ERR_clear_error();
        errno = ECONNRESET;
        return -1;
    }
}

static ssize_t tls_read(struct connection *connection, void *data, size_t length)
{
    size_t count;
    ERR_clear_error();
    connection->tls_wants_write = false;
    int r = SSL_read_ex(connection->ssl, data, length, &count);
    if (r <= 0)
        return tls_result(connection, r, true);
    note_certificate(connection);
    return (ssize_t)count;
}

/* Several parts become one record when they are short. */
static ssize_t tls_write(struct connection *connection, const struct iovec *parts, int count)
{
    char together[4096];
    size_t filled = 0, written;
    while (count > 1 && filled + parts->iov_len <= sizeof(together)) {
        memcpy(together + filled, parts->iov_base, parts->iov_len);
        filled += parts->iov_len;
        parts++, count--;
    }
    if (filled && parts->iov_len <= sizeof(together) - filled) {
        memcpy(together + filled, parts->iov_base, parts->iov_len);
        filled += parts->iov_len;
    }
    ERR_clear_error();
    int r = filled ? SSL_write_ex(connection->ssl, together, filled, &written)
                   : SSL_write_ex(connection->ssl, parts->iov_base, parts->iov_len, &written);
    return r > 0 ? (ssize_t)written : tls_result(connection, r, false);
}

/* ---- either ---- */

ssize_t transport_read(struct connection *connection, void *data, size_t length)
{
    return connection->ssl ? tls_read(connection, data, length)
                           : recv(connection->fd, data, length, 0);
}

ssize_t transport_write(struct connection *connection, const struct iovec *parts, int count)
{
    if (connection->ssl)
        return tls_write(connection, parts, count);
    struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)parts,
                             .msg_iovlen = (size_t)count};
    return sendmsg(connection->fd, &message, MSG_NOSIGNAL);
}

/* Read already, and no event will say so. */
bool transport_has_more(const struct connection *connection)
{
    return connection->ssl && SSL_has_pending(connection->ssl);
}

static void say_goodbye(struct connection *connection)
{
    if (!connection->ssl || !SSL_is_init_finished(connection->ssl))
        return;
    (void)SSL_shutdown(connection->ssl);
    ERR_clear_error();
}

void transport_end(struct connection *connection)
{
    say_goodbye(connection);
    (void)shutdown(connection->fd, SHUT_WR);
}

void transport_close(struct connection *connection)
{
    if (connection->ssl) {
        say_goodbye(connection);
        SSL_free(connection->ssl);
        connection->ssl = NULL;
    }
    hutch_fd_close(&connection->fd);
}

/* ---- what is not taken ---- */

static void keep(struct connection *connection, const struct iovec *parts, int count, size_t sent)
{
    for (int i = 0; i < count; i++) {
        size_t skip = sent < parts[i].iov_len ? sent : parts[i].iov_len;
        sent -= skip;
        if (!buffer_add(&connection->out, (const char *)parts[i].iov_base + skip,
                        parts[i].iov_len - skip)) {
            connection_close(connection);
            return;
        }
    }
}

void connection_send(struct connection *connection, const struct iovec *parts, int count)
{
    ssize_t sent = 0;
    size_t total = 0;
    for (int i = 0; i < count; i++)
        total += parts[i].iov_len;
    if (connection->is_over || !total)
        return;
    if (!connection->out.length) {
        sent = transport_write(connection, parts, count);
        if (sent < 0 && errno != EAGAIN && errno != EINTR) {
            connection_close(connection);
            return;
        }
    }
    if (sent > 0)
        connection->has_written = true;
    if (sent < 0 || (size_t)sent < total)
        keep(connection, parts, count, sent > 0 ? (size_t)sent : 0);
}

void connection_flush(struct connection *connection)
{
    while (connection->out.length && !connection->is_over) {
        struct iovec part = {(void *)(uintptr_t)buffer_at(&connection->out),
                             connection->out.length};
        ssize_t sent = transport_write(connection, &part, 1);
        if (sent < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (sent <= 0) {
            connection_close(connection);
            return;
        }
        connection->has_written = true;
        buffer_drop(&connection->out, (size_t)sent);
    }
}
