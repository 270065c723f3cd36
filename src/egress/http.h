/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of HTTP/1, read as strictly as RFC 9112 lets a recipient be: what two readers could take
 * for two different things is refused. Pure, and believes nothing it reads. */
#ifndef HUTCH_EGRESS_HTTP_H
#define HUTCH_EGRESS_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/egress.h"

#define HTTP_MAX_HEAD 32768
#define HTTP_MAX_HEADERS 128

struct http_span {
    const char *at;
    size_t length;
};

struct http_header {
    struct http_span line; /* without its end */
    struct http_span name;
    struct http_span value;
    bool is_dropped; /* not passed on */
};

struct http_head {
    size_t bytes; /* all of it, with the empty line */
    struct http_span request_line;
    struct http_span method;
    struct http_span target;
    bool is_1_0;
    bool has_length;
    bool is_chunked;
    bool has_upgrade;
    bool is_edited; /* a header is dropped */
    uint64_t content_length;
    size_t header_count;
    struct http_header headers[HTTP_MAX_HEADERS];
};

enum http_verdict { HTTP_MORE, HTTP_GOOD, HTTP_REFUSED };

/* A head whose request is for this name and port alone. *ret_problem: a few words when refused. */
enum http_verdict http_head_parse(const char *data, size_t length, const char *name, uint16_t port,
                                  struct http_head *ret_head, const char **ret_problem);
/* Is the header's name this one, in whatever case? */
bool http_span_is(const struct http_span *span, const char *text);
/* A name and value of a header, or of a trailer, in a line. */
bool http_header_parse(struct http_span line, struct http_header *ret_header);

/* ---- all requests of a connection ---- */

enum http_state {
    HTTP_AT_HEAD,
    HTTP_IN_BODY,
    HTTP_AT_CHUNK,
    HTTP_IN_CHUNK,
    HTTP_AFTER_CHUNK,
    HTTP_AT_TRAILER,
    HTTP_AT_UPGRADE, /* nothing goes on before the server has said whether it agrees */
};

struct http_filter {
    const char *name;
    uint16_t port;
    enum http_state state;
    uint64_t left; /* of a body or chunk */
    size_t trailer_bytes;
    uint64_t requests;
    const char *problem;
};

enum http_step {
    HTTP_WAIT,      /* for more bytes, or for the server */
    HTTP_PASS,      /* these may go on */
    HTTP_DROP,      /* these are nothing, and do not go on */
    HTTP_PASS_HEAD, /* these are a head, which may go on as it is or be written anew */
    HTTP_STOP,      /* refused; problem says why */
};

void http_filter_init(struct http_filter *filter, const char *name, uint16_t port);
enum http_step http_filter_step(struct http_filter *filter, const char *data, size_t length,
                                struct http_head *ret_head, size_t *ret_bytes);
/* How many bytes may pass without being looked at; and that some have. */
uint64_t http_filter_open(const struct http_filter *filter);
void http_filter_passed(struct http_filter *filter, uint64_t bytes);
/* The server has not agreed to an upgrade: it goes on with requests. */
void http_filter_go_on(struct http_filter *filter);

/* ---- what the server says to an upgrade ---- */

enum http_answer { HTTP_ANSWER_MORE, HTTP_ANSWER_SWITCHED, HTTP_ANSWER_OTHER };

/* The first final answer in the data: 101, or any other; answers that only announce one come
 * before. */
enum http_answer http_answer_read(const char *data, size_t length);

/* ---- what a request looks like ---- */

enum http_look {
    HTTP_LOOKS_LIKE, /* so it is to be read as one */
    HTTP_MAY_BE,     /* what would tell is not there yet */
    HTTP_HARDLY_IS,  /* nor is it, but only the most lenient server would wait for it */
    HTTP_LOOKS_UNLIKE,
};

/* Whatever the most lenient server would take for one, from its first line on; blanks and empty
 * lines before it are *ret_leading. What is like one stays so, whatever comes behind it. */
enum http_look http_look_at(const char *data, size_t length, size_t *ret_leading);

/* Servers give up a line after 8 KiB to 1 MiB, and this is longer. What is behind it is looked at
 * no more: a stream without lines is as fast as any other. */
#define HTTP_LONGEST_LINE 4194304

#define HTTP_LOOK_KEPT 5 /* as many as may be the beginning of a version, and one before them */

/* The same for a first line that is too long to be kept: this is the rest of it, behind at least so
 * many bytes that were looked at before. */
enum http_look http_look_on(const char *data, size_t length);

#endif
