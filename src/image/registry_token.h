/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_IMAGE_REGISTRY_TOKEN_H
#define HUTCH_IMAGE_REGISTRY_TOKEN_H

#include "image/registry_endpoint.h"

/* A token for this scope (NULL: for nothing but a look), as the challenge asks for it. */
int endpoint_get_token(struct endpoint *endpoint, struct http *http, const char *scope,
                       struct hutch_error *err) HUTCH_MUST_CHECK;
/* "Basic ..." from the credentials. */
int endpoint_basic(const struct endpoint *endpoint, char **ret_authorization,
                   struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
