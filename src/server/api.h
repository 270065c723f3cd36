/* SPDX-License-Identifier: Apache-2.0 */
/* What a route is, and what its handler has. One table per area (api_tables) is the source of
 * dispatch, of the checks of bodies and queries, and of /openapi.json; the tests read that.
 *
 * A handler runs in a worker's thread and may block. It answers once: by api_reply*(), by
 * api_fail(), or by a stream. */
#ifndef HUTCH_SERVER_API_H
#define HUTCH_SERVER_API_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hutch/hutch.h"
#include "hutch/policy.h"

struct server; /* server/server.h */
struct api_call;
struct http_exchange; /* http/http.h */

/* ---- what goes in ---- */

enum api_type {
    API_TEXT,
    API_BOOLEAN,
    API_INTEGER, /* not negative */
    API_NUMBER,
    API_DURATION, /* "500ms", "30s", or a number of seconds */
    API_SIZE,     /* "512m", or a number of bytes */
    API_TEXTS,    /* a list */
    API_TEXT_MAP,
    API_SPEC,   /* every field of hutch_fields() that is for `uses`, beside the others */
    API_OBJECT, /* anything: the handler looks at it */
    API_FORM,   /* of a query: "sse" or "ndjson" */
};

struct api_field {
    const char *name;
    enum api_type type;
    bool required;
    const char *doc; /* one sentence */
    unsigned uses;   /* API_SPEC: enum hutch_use */
};

/* What comes out: rows of server/schemas.c by name; NULL: no body. */

enum api_scope {
    API_PUBLIC, /* no token: says nothing about anybody */
    API_READ,
    API_WRITE,
    API_ADMIN,
};

enum api_flag {
    API_INLINE = 1,    /* answered in the loop's thread: must not block */
    API_BODY_PIPE = 2, /* the body is api_body_fd(), of any length */
    API_STREAMS = 4,   /* may answer with a stream: "text/event-stream", "application/x-ndjson" */
    API_WEBSOCKET = 8, /* may become one: on_websocket is called, in the loop's thread */
    API_CREATES = 16,  /* waits for its turn among those that make something: 429 */
    API_BYTES = 32,    /* answers with bytes, not JSON */
    API_RUNS = 64,     /* waits for its turn among those that run as long as they are answered */
};

struct api_route {
    const char *method;
    const char *path; /* "/api/sandboxes/{id}/execute"; a '/' at the end may be left out, or given,
                         by the client */
    const char *operation; /* operationId */
    const char *doc;       /* one sentence */
    enum api_scope scope;
    unsigned flags;                 /* enum api_flag, added up */
    const struct api_field *query;  /* up to a row without a name; NULL: none is allowed */
    const struct api_field *fields; /* of the JSON body; NULL: none is allowed */
    int status;                     /* when it goes well */
    const char *schema;             /* what it answers with then */
    void (*handle)(struct api_call *call);
    void (*on_websocket)(struct api_call *call);
};

/* One per area, each up to a row without a method: server/routes.c lists them. */
extern const struct api_route *const api_tables[];

/* ---- what a handler sees ---- */

struct api_who {
    const char *tenant; /* NULL: whoever runs the daemon, who sees everything */
    const char *name;   /* for the log and the audit: a token's name, or "uid 1000" */
    int64_t uid;        /* of a unix socket's client, -1 otherwise */
    enum api_scope scope;
};

/* Borrowed from the call. Path parameters and query values are percent-decoded, and valid UTF-8
 * without NUL. */
const struct api_route *api_route_of(const struct api_call *call);
struct server *api_server(const struct api_call *call);
const struct api_who *api_who(const struct api_call *call);
const char *api_param(const struct api_call *call, const char *name);
const char *api_query(const struct api_call *call, const char *name); /* NULL: not given */
bool api_query_flag(const struct api_call *call,
                    const char *name); /* given, and not "0" or "false" */
uint64_t api_query_number(const struct api_call *call, const char *name,
                          uint64_t otherwise);                         /* checked already */
const char *api_header(const struct api_call *call, const char *name); /* lower case */
/* The body as it came, and as it was read: duplicate keys, unknown fields and wrong types were
 * refused. NULL without one. */
const char *api_text(const struct api_call *call, size_t *ret_length);
const json_t *api_body(const struct api_call *call);
/* NULL, 0 or `otherwise` where it is not given. */
const char *api_body_text(const struct api_call *call, const char *field);
bool api_body_flag(const struct api_call *call, const char *field, bool otherwise);
uint64_t api_body_number(const struct api_call *call, const char *field, uint64_t otherwise);
uint64_t api_body_ms(const struct api_call *call, const char *field, uint64_t otherwise);
/* API_BODY_PIPE: to read from, the call's own; -1 without a body. */
int api_body_fd(const struct api_call *call);
bool api_body_is_whole(const struct api_call *call);   /* after its end */
uint64_t api_body_length(const struct api_call *call); /* UINT64_MAX: not known */

/* The sandbox that {id} names, name or id, held against the daemon's policy as one of the caller's
 * tenant. Another tenant's is not there. Fails the call itself. Free it with hutch_sandbox_free().
 */
HUTCH_MUST_CHECK int api_sandbox(struct api_call *call, struct hutch_sandbox **ret_sandbox);
/* A spec of the body's API_SPEC fields, bound to policy and tenant. Fails the call itself. */
HUTCH_MUST_CHECK int api_spec(struct api_call *call, struct hutch_spec **ret_spec);
/* May this caller see that sandbox? */
bool api_may_see(const struct api_call *call, const struct hutch_sandbox *sandbox);

/* on_websocket: the exchange to answer with http_websocket(), or an api_fail(). The call and what
 * is borrowed from it live until api_end(), which is called once in either case and in the loop's
 * thread; whoever has to wait does so by server_work() of server/server.h. */
struct http_exchange *api_exchange(const struct api_call *call);
void api_end(struct api_call *call);

/* ---- what it answers ---- */

void api_reply(struct api_call *call, int status, json_t *body); /* takes the body; NULL: none */
/* Takes the text, which is JSON and was allocated with malloc(). */
void api_reply_json_text(struct api_call *call, int status, char *json);
void api_reply_bytes(struct api_call *call, int status, const char *type, const void *data,
                     size_t length);
void api_add_header(struct api_call *call, const char *name,
                    const char *value); /* before any of these; copied */

/* Problem documents (RFC 9457): the code's name is `code`, its status hutch_code_http_status(). */
void api_fail(struct api_call *call, const struct hutch_error *err);
void api_problem(struct api_call *call, int status, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* A stream: *ret_fd blocks, and is closed with the call; a client who is gone makes it EPIPE.
 * length: HTTP_LENGTH_UNKNOWN, or what will come. */
HUTCH_MUST_CHECK int api_stream(struct api_call *call, int status, const char *type,
                                uint64_t length, int *ret_fd);
/* Of a stream: the handler returns, and the call goes on until api_let_go(), which any thread calls
 * once; what is borrowed from it lives as long. */
void api_keep(struct api_call *call);
void api_let_go(struct api_call *call);

/* Has fn called in the worker's thread once the answer is on its way, where the call is nobody's
 * any more. Of a handler that is not API_INLINE. */
void api_afterwards(struct api_call *call, void (*fn)(void *argument), void *argument);
/* It cannot go on: the client is to know. */
void api_cut(struct api_call *call);
/* Readable when the client is gone: a cancel_fd. */
int api_gone_fd(struct api_call *call);

#endif
