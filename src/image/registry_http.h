/* SPDX-License-Identifier: Apache-2.0 */
/* One question over HTTP and its answer, however often it is sent elsewhere on the way.
 *
 * Redirects are followed here and not by libcurl, so that each step is looked at: the Authorization
 * header goes to the server that was asked first and to no other host, port or scheme; nothing
 * leads from HTTPS to HTTP or to another protocol. An answer has a ceiling, and so have its
 * headers.
 *
 * All exchanges of one `http` share its connections. Several may be under way at once; one thread
 * drives them all with http_pump(). */
#ifndef HUTCH_IMAGE_REGISTRY_HTTP_H
#define HUTCH_IMAGE_REGISTRY_HTTP_H

#include <curl/curl.h>
#include <stdint.h>

#include "image/registry_url.h"
#include "util/buf.h"

struct http;
int http_new(struct http **ret_http, struct hutch_error *err) HUTCH_MUST_CHECK;
void http_free(struct http *http);
/* Moves everything that is under way; waits at most so long for something to happen. */
int http_pump(struct http *http, unsigned wait_ms, struct hutch_error *err) HUTCH_MUST_CHECK;

/* What is allowed with the servers of one registry. */
struct http_policy {
    const char *ca;             /* PEM file, beside the system's; may be NULL */
    const char *unchecked_host; /* its certificate is not looked at; mostly NULL */
    bool allows_plain;
    unsigned stall_seconds;
};

struct http_exchange;
/* A piece of the body of an answer with a status of 2xx. A failure ends the exchange. */
typedef int http_sink(struct http_exchange *exchange, const void *data, size_t length,
                      struct hutch_error *err);

struct http_exchange {
    /* What is asked; set before http_begin(). All of it is borrowed until the end. */
    const struct http_policy *policy;
    const char *method;         /* "GET", "HEAD", "POST", "PUT" */
    const char *authorization;  /* borrowed for http_begin() alone; may be NULL */
    const char *const *headers; /* NULL-terminated; they go along with redirects; may be NULL */
    const char *text;           /* the body, text_length bytes; or: */
    size_t text_length;
    int body_fd; /* a file with body_size bytes, read from its start; negative: none */
    uint64_t body_size;
    void (*on_sent)(struct http_exchange *exchange, uint64_t sent);
    size_t ceiling;  /* of an answer that is kept in `answer` */
    http_sink *sink; /* instead of keeping it */
    void *context;
    bool stays;   /* a redirect is a failure: even the body is a secret */
    bool is_once; /* what fails is not tried again by endpoint_ask() */

    /* What is answered. */
    bool is_done;
    CURLcode result;
    long status;
    struct hutch_buf answer;    /* of a status other than 2xx: its beginning */
    struct hutch_error failure; /* of the sink, or of a check made here; code 0: none */
    bool is_sink_failure;       /* for the sink: what failed is behind it */

    /* Its own. */
    CURL *easy;
    char *url;
    char *credential;       /* a copy of the authorization: a token may be renewed meanwhile */
    struct url_origin home; /* the server asked first */
    struct url_origin now;  /* the one that it was sent to */
    struct curl_slist *header_list;
    unsigned redirects;
    size_t header_bytes;
    uint64_t ignored_bytes;
    uint64_t sent;
    char problem[CURL_ERROR_SIZE];
};

#define HTTP_EXCHANGE_INIT                               \
    {                                                    \
        .method = "GET", .body_fd = -1, .ceiling = 65536 \
    }

/* Prepares and starts it; again after its end, for the same or another URL. */
int http_begin(struct http *http, struct http_exchange *exchange, const char *url,
               struct hutch_error *err) HUTCH_MUST_CHECK;
/* After is_done: 1 when it was sent elsewhere and is under way again, 0 when there is an answer. A
 * failure of the connection leaves its kind in `result`. */
int http_end(struct http *http, struct http_exchange *exchange,
             struct hutch_error *err) HUTCH_MUST_CHECK;
/* Both, and the waiting in between. */
int http_run(struct http *http, struct http_exchange *exchange, const char *url,
             struct hutch_error *err) HUTCH_MUST_CHECK;
/* Also when it is under way. What it was asked and told stays as it is. */
void http_done(struct http *http, struct http_exchange *exchange);

/* The index-th header of this name in the answer, NULL: none. Borrowed, until the next of these. */
const char *http_header(const struct http_exchange *exchange, const char *name, size_t index);
/* Is the answer that of the server that was asked first? */
bool http_is_home(const struct http_exchange *exchange);
/* Would the same have a chance a little later? Of one that failed, or was answered. */
bool http_is_passing(const struct http_exchange *exchange);

#endif
