/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses that may be asked, and whether two of them are the same server. */
#ifndef HUTCH_IMAGE_REGISTRY_URL_H
#define HUTCH_IMAGE_REGISTRY_URL_H

#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

#define URL_HOST_BYTES 256

struct url_origin {
    char host[URL_HOST_BYTES]; /* lower case */
    unsigned port;
    bool is_plain;
};

/* HTTP or HTTPS without a login in it; plain HTTP only where it is allowed. */
int url_check(const char *url, bool allows_plain, struct url_origin *ret_origin,
              struct hutch_error *err) HUTCH_MUST_CHECK;
bool url_same_origin(const struct url_origin *a, const struct url_origin *b);
/* The names of this machine, to which docker speaks plain HTTP without being told. */
bool url_host_is_local(const char *host);
/* Adds "key=value" to the query, escaped. */
int url_add_query(char **url, const char *key, const char *value,
                  struct hutch_error *err) HUTCH_MUST_CHECK;
/* An address as it stands on the page of another one. */
int url_resolve(const char *base, const char *reference, char **ret_url,
                struct hutch_error *err) HUTCH_MUST_CHECK;
/* Text from a server, for a message: cut, and without anything that is not to be printed. */
#define URL_PRINTABLE_BYTES 200
const char *url_printable(const char *text, char ret_text[URL_PRINTABLE_BYTES]);

#endif
