/* SPDX-License-Identifier: Apache-2.0 */
/* A server that speaks for a registry: the registry itself or a mirror, with the login for it. */
#ifndef HUTCH_IMAGE_REGISTRY_ENDPOINT_H
#define HUTCH_IMAGE_REGISTRY_ENDPOINT_H

#include "image/credentials.h"
#include "image/registries.h"
#include "image/registry_challenge.h"
#include "image/registry_http.h"

struct endpoint {
    char *name; /* under which its login is kept: "docker.io", "mirror.example:5000" */
    char *base; /* "https://registry-1.docker.io" */
    char host[URL_HOST_BYTES];
    char *ca;
    struct http_policy policy;
    bool tries_plain; /* it is not known yet whether it speaks HTTPS */

    struct credentials credentials;
    bool has_credentials; /* they were looked for */
    struct challenge challenge;
    char *authorization; /* what the next question gets along; NULL: nothing */
    int64_t expires_ms;  /* of a token */
    unsigned generation; /* how many there have been */
};

/* base: "https://host", or NULL: as the name says. */
int endpoint_init(struct endpoint *endpoint, const char *name, const char *base,
                  const struct registry_settings *settings,
                  struct hutch_error *err) HUTCH_MUST_CHECK;
void endpoint_done(struct endpoint *endpoint);
/* Before a question: finds out whether it speaks HTTPS, renews a token that is running out. */
int endpoint_prepare(struct endpoint *endpoint, struct http *http, const char *scope,
                     struct hutch_error *err) HUTCH_MUST_CHECK;
/* After an answer of 401 to a question that was sent with this generation: gets what it asks for.
 */
int endpoint_authorize(struct endpoint *endpoint, struct http *http, const char *scope,
                       const struct http_exchange *refused, unsigned generation,
                       struct hutch_error *err) HUTCH_MUST_CHECK;
/* A question and its answer of any status, with login and some patience. path: from "/v2/" on. */
int endpoint_ask(struct endpoint *endpoint, struct http *http, const char *scope,
                 struct http_exchange *exchange, const char *path,
                 struct hutch_error *err) HUTCH_MUST_CHECK;
/* The same with an address that the endpoint itself has given. */
int endpoint_ask_url(struct endpoint *endpoint, struct http *http, const char *scope,
                     struct http_exchange *exchange, const char *url,
                     struct hutch_error *err) HUTCH_MUST_CHECK;

/* What an answer other than the expected one means; what: "blob 'sha256:...'", "image 'x:1'". */
int endpoint_refused(const struct endpoint *endpoint, const struct http_exchange *exchange,
                     const char *what, struct hutch_error *err);
/* How long to wait after the n-th failure in a row, by what the answer says; negative: too long. */
int64_t endpoint_patience_ms(const struct http_exchange *exchange, unsigned failures);
int64_t endpoint_now_ms(void);

#define ENDPOINT_MOST_REFUSALS 3

#endif
