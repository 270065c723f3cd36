/* SPDX-License-Identifier: Apache-2.0 */
/* What flows through an exchange, as libcurl hands it over; for registry_http.c alone. */
#ifndef HUTCH_IMAGE_REGISTRY_FLOW_H
#define HUTCH_IMAGE_REGISTRY_FLOW_H

#include "image/registry_http.h"

enum { HTTP_KEPT_OF_REFUSALS = 4096, HTTP_IGNORED_CEILING = 1 << 20 };

long http_status(const struct http_exchange *exchange);
size_t http_on_header(char *data, size_t size, size_t count, void *context);
size_t http_on_body(char *data, size_t size, size_t count, void *context);
size_t http_on_read(char *buffer, size_t size, size_t count, void *context);
int http_on_seek(void *context, curl_off_t offset, int origin);

#endif
