/* SPDX-License-Identifier: Apache-2.0 */
/* What moves the exchanges, for registry_http.c alone. */
#ifndef HUTCH_IMAGE_REGISTRY_PUMP_H
#define HUTCH_IMAGE_REGISTRY_PUMP_H

#include "image/registry_http.h"

int http_pump_add(struct http *http, CURL *easy, struct hutch_error *err) HUTCH_MUST_CHECK;
void http_pump_remove(struct http *http, CURL *easy);
/* Why an exchange failed, and what helps. */
int http_fail(const struct http_exchange *exchange, struct hutch_error *err);

#endif
