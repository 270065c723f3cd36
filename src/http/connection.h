/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this directory share: the server, its connections, their exchanges.
 *
 * A connection reads into the server's one piece of memory, and keeps only what cannot be used yet;
 * it writes what it is given at once, and keeps only what the kernel did not take. One request is
 * answered at a time: what a client sends ahead waits, first here, within a bound, then in the
 * kernel. Every way into a connection (an event, a call of the handler's) is between
 * connection_enter() and connection_leave(), and the latter alone decides what it waits for next
 * and whether it is over: whatever happens in between, it is still there. */
#ifndef HUTCH_HTTP_CONNECTION_H
#define HUTCH_HTTP_CONNECTION_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/uio.h>

#include "http/buffer.h"
#include "http/chunked.h"
#include "http/http.h"
#include "http/parse.h"

#define PIECE_BYTES ((size_t)16 * 1024) /* the most that is read or sent at a time */

struct ssl_st;
struct websocket;
struct connection;

/* ---- deadlines: one queue of connections per kind, the next due first (deadline.c) ---- */

enum deadline_kind {
    DEADLINE_HEAD,
    DEADLINE_BODY,
    DEADLINE_WRITE,
    DEADLINE_IDLE,
    DEADLINE_LINGER,
    DEADLINE_LOOK, /* is the client still there, though nothing is read from it? */
    DEADLINE_COUNT,
    DEADLINE_NONE = DEADLINE_COUNT,
};

struct deadline {
    struct deadline *next;
    struct deadline *previous;
    uint64_t due_ms;
    enum deadline_kind kind;
};

struct deadlines {
    struct deadline queues[DEADLINE_COUNT]; /* heads of rings */
    uint64_t after_ms[DEADLINE_COUNT];
    struct event timer;
    uint64_t timer_due_ms; /* 0: not set */
};

void deadlines_init(struct http_server *server);
void deadlines_done(struct http_server *server);
/* Without `renew`, one of the same kind stays as it is. */
void deadline_set(struct connection *connection, enum deadline_kind kind, bool renew);
uint64_t http_now_ms(void);

/* ---- clients: how many connections each has (clients.c) ---- */

struct client;
#define CLIENT_BUCKETS 256

/* NULL: it has as many as it may, or memory is out. */
struct client *client_join(struct http_server *server, const struct http_peer *peer,
                           const void *address, size_t length);
void client_leave(struct http_server *server, struct client *client);

/* ---- the server ---- */

struct listener {
    struct listener *next;
    struct http_server *server;
    struct ssl_ctx_st *tls;
    int fd;
    struct event event;
};

struct post {
    struct post *next;
    void (*fn)(void *argument);
    void *argument;
};

struct posts {
    pthread_mutex_t lock;
    struct post *first;
    struct post **last;
    int fd; /* an eventfd, readable when there is one */
    struct event event;
};

struct http_server {
    struct event_base *base;
    struct http_server_options options;
    struct listener *listeners;
    struct event accept_again; /* after descriptors ran out */
    struct connection *connections;
    struct client *clients[CLIENT_BUCKETS];
    struct http_counts counts;
    struct deadlines deadlines;
    struct posts posts;
    uint64_t id_seed;
    uint64_t id_count;
    int64_t date_second;
    char date[32];
    bool is_draining;
    void (*on_drained)(void *userdata);
    void *drained_userdata;
    struct buffer head;     /* of the answer that is being made */
    char came[PIECE_BYTES]; /* what is read from a client goes here first */
    char goes[PIECE_BYTES]; /* what is read from a stream */
};

void server_connection_is_gone(struct http_server *server);
int posts_init(struct http_server *server, struct hutch_error *err);
void posts_done(struct http_server *server);

/* ---- who is there (peer.c): counted, for an exchange may outlive its connection ---- */

struct peer {
    unsigned references;
    struct http_peer about;
};

struct peer *peer_new(int fd, const void *address, bool has_tls);
void peer_unref(struct peer *peer);

/* ---- one request and its answer ---- */

enum body_sink {
    BODY_NOT_ASKED_FOR,
    BODY_TO_MEMORY,
    BODY_TO_PIPE,
    BODY_TO_NOTHING, /* a short one that nobody asked for: what comes next is a request */
    BODY_DONE,       /* all of it came, or there is none */
    BODY_LOST,       /* it will not come, or nobody wants it any more */
};

struct body {
    enum body_sink sink;
    uint64_t left; /* of one whose length is known */
    struct chunked chunked;
    struct buffer memory;
    size_t most_bytes;
    http_body_fn on_body;
    int pipe_fd; /* to write into */
    struct event pipe_room;
    bool waits_for_room;
};

enum answer_state {
    ANSWER_NONE,
    ANSWER_STREAM,
    ANSWER_WEBSOCKET,
    ANSWER_MADE, /* the last of it is written, or waits to be */
};

struct stream {
    int fd; /* to read from */
    struct event readable;
    bool is_watched;
    bool is_chunked;
    bool is_cut;
    uint64_t left; /* HTTP_LENGTH_UNKNOWN: to its end */
};

struct http_exchange {
    struct connection *connection; /* NULL: gone, or over */
    unsigned references;
    atomic_bool is_gone;
    atomic_bool body_is_whole;
    int gone_fd;
    struct peer *peer;
    struct head head;
    struct body body;
    struct stream *stream;
    enum answer_state answer;
    bool keep_alive; /* of the answer */
    int status;
    uint64_t bytes_out;
    uint64_t start_us;
    void *userdata;
    char *note;
    char request_id[65];
    struct http_header fields[]; /* and behind them its head */
};

struct http_exchange *exchange_new(struct connection *connection, const char *data, size_t length,
                                   struct refusal *refusal);
/* The connection has no more to do with it. */
void exchange_over(struct http_exchange *exchange, bool is_gone);
uint64_t http_now_us(void);

/* ---- a connection ---- */

struct connection {
    struct connection *next;
    struct connection *previous;
    struct http_server *server;
    int fd;
    struct ssl_st *ssl;
    struct peer *peer;
    struct client *client;
    struct http_exchange *exchange;
    struct websocket *websocket;
    struct deadline deadline;
    struct event readable;
    struct event writable;
    struct buffer in;  /* came, and cannot be used yet */
    struct buffer out; /* to be sent, and the client does not take it */
    struct head_scan scan;
    uint64_t lingered_bytes;
    unsigned depth;
    bool is_reading; /* the events that are set */
    bool is_writing;
    bool tls_wants_write; /* for it to read */
    bool has_read;        /* since the deadline was set */
    bool has_written;
    bool has_request;
    bool is_known; /* it has had an answer */
    bool is_using; /* what came */
    bool closes;   /* no other request after this answer */
    bool is_lingering;
    bool is_ended;          /* the client will send nothing more */
    bool websocket_is_over; /* goodbye was said */
    bool is_over;
};

void connection_new(struct listener *listener, int fd, const void *address, size_t length);
void connection_enter(struct connection *connection);
void connection_leave(struct connection *connection);
/* At once: what waits to be sent is lost. */
void connection_close(struct connection *connection);
/* Of one that is over: connection_leave() does. */
void connection_free(struct connection *connection);
/* Uses what has come as far as that is possible now. */
void connection_go_on(struct connection *connection);
/* No request is read any more; what still comes is thrown away. unread: something does. */
void connection_linger(struct connection *connection, bool unread);
/* The answer is made whole. */
void connection_answered(struct connection *connection);
/* The same again: perhaps nothing waits to be sent any more. */
void connection_finish(struct connection *connection);
void connection_take(struct connection *connection, const char *data, size_t length);
void connection_take_end(struct connection *connection);

/* events.c */
void connection_watch(struct connection *connection);
void connection_is_due(struct connection *connection, enum deadline_kind kind);

/* transport.c: plain or TLS. -1 with errno; EAGAIN when it would wait. */
ssize_t transport_read(struct connection *connection, void *data, size_t length);
ssize_t transport_write(struct connection *connection, const struct iovec *parts, int count);
bool transport_has_more(const struct connection *connection);
int transport_start_tls(struct connection *connection, struct ssl_ctx_st *tls);
/* Nothing more is sent: the client is to know. */
void transport_end(struct connection *connection);
void transport_close(struct connection *connection);
/* Sends what it can and keeps the rest. */
void connection_send(struct connection *connection, const struct iovec *parts, int count);
void connection_flush(struct connection *connection);

/* ---- bodies (body.c) ---- */

/* Takes what it can of data: how many bytes. */
size_t body_feed(struct connection *connection, const char *data, size_t length);
bool body_is_wanted(const struct http_exchange *exchange);
/* No more of it is taken. */
void body_stop(struct http_exchange *exchange);
/* The same, and whoever waits for it is told. */
void body_lose(struct http_exchange *exchange);

/* ---- answers (answer_head.c, answer.c, stream.c, refuse.c, status.c) ---- */

/* Into server->head; false: out of memory. length: HTTP_LENGTH_UNKNOWN with is_chunked, or until
 * the connection's end. */
bool answer_head_make(struct http_exchange *exchange, int status, const struct http_header *headers,
                      uint64_t length, bool is_chunked);
/* Decides whether the connection goes on behind the answer. */
void answer_begin(struct http_exchange *exchange, int status);
void stream_done(struct http_exchange *exchange);
void stream_pump(struct http_exchange *exchange);
/* An answer of our own to what is no request: the connection ends with it. */
void connection_refuse(struct connection *connection, const struct refusal *refusal);
/* The same to a request. */
void exchange_refuse(struct http_exchange *exchange, int status, const char *why);

/* ---- WebSocket (websocket.c) ---- */

/* How many bytes it took. */
size_t websocket_feed(struct connection *connection, const char *data, size_t length);
void websocket_flush(struct connection *connection);
bool websocket_is_held(const struct connection *connection);
bool websocket_is_closing(const struct connection *connection);
/* It is quiet: asks whether somebody is there, the second time gives up. */
void websocket_is_idle(struct connection *connection);
void websocket_gone(struct connection *connection, int code);
void websocket_done(struct connection *connection);

#endif
