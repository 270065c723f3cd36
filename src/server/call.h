/* SPDX-License-Identifier: Apache-2.0 */
/* One request on its way. It is made in the loop's thread, goes to a worker with everything that it
 * needs, and comes back with its answer; nothing of it is ever two threads' at the same time but
 * the exchange, which says itself what other threads may ask of it. */
#ifndef HUTCH_SERVER_CALL_H
#define HUTCH_SERVER_CALL_H

#include <pthread.h>

#include "http/http.h"
#include "server/api.h"
#include "server/server.h"

#define CALL_PARAMS 4
#define CALL_HEADERS 16
#define CALL_NAME_BYTES 160

struct api_param {
    const char *name; /* into the route's path: up to its '}' */
    size_t name_length;
    char *value;
};

enum call_answer {
    CALL_UNANSWERED,
    CALL_ANSWERED, /* status and body are here */
    CALL_STREAMED, /* its head went out already */
};

struct api_call {
    struct server *server;
    struct http_exchange *exchange;
    const struct api_route *route;
    struct api_who who;
    char tenant[HUTCH_TENANT_BYTES];
    char name[CALL_NAME_BYTES];

    struct api_param params[CALL_PARAMS];
    size_t param_count;
    char **query; /* a value for each row of the route's, NULL where it is not given */
    size_t query_count;
    char *text;
    size_t text_length;
    json_t *body;
    int body_fd;
    int gone_fd;

    enum call_answer answer;
    int status;
    char *content;
    size_t content_length;
    char *content_type;
    struct http_header
        headers[CALL_HEADERS + 2]; /* with the type and the end; their texts are own */
    size_t header_count;
    int stream_fd; /* the writing end */
    bool is_cut;
    bool is_kept; /* of its handler and whoever has it else, both have yet to come back */

    void (*afterwards)(void *argument); /* NULL: the answer is all there is to do */
    void *left;                         /* its argument */

    uint64_t started_us;
    unsigned turn;                 /* enum admission_line, while it has a turn */
    struct api_call *next;         /* in a queue */
    struct idempotent *idempotent; /* its key, while the answer is to be kept */
    bool is_stream;                /* counted as one, no longer as a request */
    bool is_entering;              /* on_websocket has not returned yet */
    bool has_ended;                /* and has called api_end() */
};

/* In the loop's thread; the exchange is held. */
struct api_call *call_new(struct server *server, struct http_exchange *exchange);
void call_free(struct api_call *call);
/* Sends what the handler has left, and frees it. In the loop's thread. */
void call_finish(struct api_call *call);
/* Has the route's handler called and the call come back to call_finish(). In the loop's thread. */
void call_start(struct api_call *call);

/* Gives it to the route's on_websocket. In the loop's thread. */
void call_enter_websocket(struct api_call *call);

#endif
