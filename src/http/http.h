/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/1.1 and WebSocket for a daemon, on one libevent loop. It knows nothing of sandboxes.
 *
 * Everything here is called in the thread of the loop, except where it says "any thread". Nothing
 * here blocks. Whoever has to wait does so in a thread of its own: it reads a body from a pipe,
 * writes a stream into another, and what it blocks on is the pipe, so that a slow client costs
 * nothing but the pipe. */
#ifndef HUTCH_HTTP_HTTP_H
#define HUTCH_HTTP_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "hutch/error.h"

struct event_base;
struct ssl_ctx_st;
struct http_server;
struct http_exchange; /* one request and its answer */

/* ---- limits: one table (http/limits.c) has their names, defaults and what they are for ---- */

struct http_limits {
    uint64_t head_bytes;             /* request line and header fields together: 431 */
    uint64_t head_fields;            /* how many: 431 */
    uint64_t target_bytes;           /* path and query: 414 */
    uint64_t connections;            /* of all clients; the next is closed at once */
    uint64_t connections_per_client; /* by address, or by uid on a unix socket */
    uint64_t pipelined_bytes;        /* read ahead of the request that is answered */
    uint64_t head_ms;                /* until the head is whole: 408 */
    uint64_t body_stall_ms;          /* without a byte of the body, while it is wanted: 408 */
    uint64_t write_stall_ms;         /* without a byte taken by the client: closed */
    uint64_t idle_ms;                /* between two requests: closed */
    uint64_t linger_ms;              /* that a refused client may go on sending: closed */
    uint64_t message_bytes;          /* of one WebSocket message: 1009 */
};
extern const struct http_limits http_default_limits;

/* A row of the table, for flags, configuration and documentation. */
struct http_limit {
    const char *name; /* "head-bytes" */
    const char *unit; /* "bytes", "ms", or "" for a number of them */
    size_t offset;    /* of its member in struct http_limits */
    uint64_t otherwise;
    uint64_t least;
    uint64_t most;
    const char *doc; /* one sentence */
};
extern const struct http_limit http_limit_table[]; /* up to a row without a name */
/* Refuses what is less than a row's least or more than its most. */
int http_limit_set(struct http_limits *limits, const char *name, uint64_t value,
                   struct hutch_error *err);

/* ---- the server ---- */

/* A request whose head is whole and cannot be read in two ways. The handler answers it now, or asks
 * for the body, or holds it and answers later; nothing else is asked of this connection until it is
 * answered. */
typedef void (*http_request_fn)(void *userdata, struct http_exchange *exchange);

struct http_log_entry {
    const char *method; /* "-" when the head was never whole */
    const char *target;
    int status;
    uint64_t bytes_out; /* of the body */
    uint64_t duration_us;
    const char *peer;
    const char *note; /* what http_set_note() said; "" otherwise */
    const char *request_id;
};
typedef void (*http_log_fn)(void *userdata, const struct http_log_entry *entry);

struct http_server_options {
    struct http_limits limits;
    http_request_fn on_request;
    http_log_fn on_log; /* may be NULL */
    void *userdata;
};

/* From then on SIGPIPE is ignored, unless it is handled: who writes to somebody who is gone gets
 * EPIPE. What is spawned should have it back. */
int http_server_new(struct event_base *base, const struct http_server_options *options,
                    struct http_server **ret_server, struct hutch_error *err);
/* Takes the listening socket over. tls: NULL for plain text; borrowed. */
int http_server_listen(struct http_server *server, int fd, struct ssl_ctx_st *tls,
                       struct hutch_error *err);
/* TLS 1.2 and newer. client_ca: NULL, or who signs the clients that are let in. */
int http_tls_new(const char *certificate, const char *key, const char *client_ca,
                 struct ssl_ctx_st **ret_tls, struct hutch_error *err);
/* No new connections; those between two requests are closed, the others after their answer.
 * on_drained is called when none is left. */
void http_server_drain(struct http_server *server, void (*on_drained)(void *userdata),
                       void *userdata);
/* Closes what is left: whoever holds an exchange finds it gone. Posts are still done. */
void http_server_close(struct http_server *server);
/* The same, and nobody posts or holds anything any more. */
void http_server_free(struct http_server *server);
struct http_counts {
    uint64_t connections; /* open now */
    uint64_t accepted;
    uint64_t refused; /* over a limit */
    uint64_t requests;
    uint64_t bad_requests; /* that never came to the handler */
};
void http_server_counts(const struct http_server *server, struct http_counts *ret_counts);
/* Any thread: fn is called in the loop's. */
void http_post(struct http_server *server, void (*fn)(void *argument), void *argument);

/* ---- the request ---- */

struct http_peer {
    bool is_unix;
    uid_t uid; /* of a unix socket's */
    gid_t gid;
    pid_t pid;
    bool is_loopback;
    bool has_tls;
    char name[128];       /* "127.0.0.1:5000", or "uid 1000" */
    char tls_client[256]; /* the name in a client's certificate; "" without one */
};

/* Borrowed from the exchange. */
const char *http_method(const struct http_exchange *exchange);
const char *http_path(const struct http_exchange *exchange);  /* as it came: percent-encoded */
const char *http_query(const struct http_exchange *exchange); /* behind the '?'; "" without */
/* name in lower case; NULL when it is not there. Of a field that came more than once, the first:
 * those where that would be dangerous (Host, Content-Length, Authorization, ...) were refused. */
const char *http_field(const struct http_exchange *exchange, const char *name);
const struct http_peer *http_peer(const struct http_exchange *exchange);
const char *http_request_id(const struct http_exchange *exchange); /* X-Request-Id, or a new one */
bool http_has_body(const struct http_exchange *exchange);
#define HTTP_LENGTH_UNKNOWN UINT64_MAX
uint64_t http_body_length(const struct http_exchange *exchange);
/* Goes into the log: who it was, which route. Copied. */
void http_set_note(struct http_exchange *exchange, const char *note);
void *http_userdata(const struct http_exchange *exchange);
void http_set_userdata(struct http_exchange *exchange, void *userdata);

/* ---- its body ---- */

/* Called once with all of it (valid during the call), or with data NULL when it did not come or was
 * longer: then it has been answered already (413, 408) or the client is gone. */
typedef void (*http_body_fn)(struct http_exchange *exchange, const char *data, size_t length);
void http_read_body(struct http_exchange *exchange, size_t most_bytes, http_body_fn on_body);
/* A pipe to read it from as it comes: *ret_fd blocks and is the caller's. Its end does not say that
 * all of it came: http_body_is_whole() does, any thread, after that end. */
int http_pipe_body(struct http_exchange *exchange, int *ret_fd, struct hutch_error *err);
bool http_body_is_whole(const struct http_exchange *exchange);

/* ---- the answer ---- */

struct http_header {
    const char *name;
    const char *value;
};
/* headers: up to a row whose name is NULL; may be NULL. The body is copied. Content-Length,
 * X-Request-Id, Date and the fields that every answer has are added. HEAD gets no body. */
void http_answer(struct http_exchange *exchange, int status, const struct http_header *headers,
                 const void *body, size_t length);
/* Sends what comes out of fd until its end, and closes fd; it is a pipe's reading end, which is
 * made non-blocking. When the client goes, fd is closed and whoever writes gets EPIPE. length: when
 * it is known; a stream that ends before is cut. */
void http_answer_stream(struct http_exchange *exchange, int status,
                        const struct http_header *headers, uint64_t length, int fd);
/* Of a stream that cannot go on: what is in the pipe is sent, then the connection is closed in the
 * middle, by which the client knows. To be called before the writing end is closed, whose end would
 * be the stream's. */
void http_cut(struct http_exchange *exchange);

/* In words. */
const char *http_status_text(int status);

/* ---- WebSocket ---- */

struct http_websocket_fns {
    void (*on_message)(struct http_exchange *exchange, bool is_text, const char *data,
                       size_t length);
    /* The other side is gone or says goodbye. Called once, also after http_websocket_close(). */
    void (*on_close)(struct http_exchange *exchange, int code);
    /* What was sent before has gone down to little: room for more. May be NULL. */
    void (*on_room)(struct http_exchange *exchange);
};
/* Answers 101, or 400 and -1 when that is not what was asked for. protocol may be NULL. */
int http_websocket(struct http_exchange *exchange, const char *protocol,
                   const struct http_websocket_fns *fns);
void http_websocket_send(struct http_exchange *exchange, bool is_text, const char *data,
                         size_t length);
/* Bytes that were sent and not yet taken: stop at 256 KiB and wait for on_room. */
size_t http_websocket_pending(const struct http_exchange *exchange);
/* Takes no message until it is called with false: who is slower than the client holds it up. */
void http_websocket_hold(struct http_exchange *exchange, bool hold);
void http_websocket_close(struct http_exchange *exchange, int code, const char *why);

/* ---- life ---- */

/* The exchange lives until it is answered or its client gone, and as long as somebody holds it. An
 * answer to a client who is gone is nothing. One who has closed its sending side is gone, too: it
 * cannot be told from one who died. */
void http_hold(struct http_exchange *exchange);
void http_release(struct http_exchange *exchange);
/* Any thread, of an exchange that is held. */
bool http_is_gone(const struct http_exchange *exchange);
/* An eventfd that is readable from then on; the exchange's own. */
int http_gone_fd(struct http_exchange *exchange);

#endif
