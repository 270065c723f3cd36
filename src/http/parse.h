/* SPDX-License-Identifier: Apache-2.0 */
/* The head of a request. It is read once, whole, by us and by llhttp; what one of them does not
 * understand, or what the two might understand differently, is refused, for somebody between us and
 * the client may have understood it otherwise still. */
#ifndef HUTCH_HTTP_PARSE_H
#define HUTCH_HTTP_PARSE_H

#include "http/http.h"

/* Why a request is not answered by the handler. */
struct refusal {
    int status;
    const char *why; /* one sentence */
};

/* Sets it and returns -1. */
int refuse(struct refusal *refusal, int status, const char *why);

struct head {
    const char *method;
    const char *target; /* as it came */
    char *path;
    const char *query;
    size_t field_count;
    struct http_header *fields; /* names in lower case */
    uint64_t length;            /* HTTP_LENGTH_UNKNOWN: chunked */
    bool is_1_0;
    bool keep_alive;
    bool wants_continue;
    bool wants_websocket;
};

/* How far the end of the head has been looked for. */
struct head_scan {
    size_t seen;
    size_t line_start;
    size_t lines;
    size_t first_line; /* its length, when it is whole */
};

/* 1: whole, with *ret_length bytes; 0: more is needed; -1: refused. data: all that has come. */
int head_scan(struct head_scan *scan, const char *data, size_t length,
              const struct http_limits *limits, size_t *ret_length, struct refusal *refusal);

/* text is the caller's own copy of a whole head, and is cut into pieces. head->fields has room for
 * scan->lines, head->path for scan->first_line bytes. 0 or -1: refused. */
int head_parse(struct head *head, char *text, size_t length, bool has_tls,
               const struct http_limits *limits, struct refusal *refusal);

/* NULL when it is not there. */
const char *head_field(const struct head *head, const char *name);

/* target.c: the target's form and letters; sets path and query. */
int head_read_target(struct head *head, const char *host, bool has_tls, struct refusal *refusal);
/* framing.c: which fields may stand together, and how long the body is. */
int head_read_framing(struct head *head, struct refusal *refusal);
bool host_is_valid(const char *host);
/* Is this one of the values between commas? No case. */
bool list_has(const char *list, const char *value);

/* Letters of a token (RFC 9110, 5.6.2). */
bool is_token(const char *text, size_t length);

#endif
