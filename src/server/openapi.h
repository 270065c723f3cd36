/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_SERVER_OPENAPI_H
#define HUTCH_SERVER_OPENAPI_H

#include <jansson.h>

/* The whole API as an OpenAPI document (3.1), made of the tables of routes, fields and schemas.
 * NULL when there is no memory. */
json_t *openapi_document(void);

/* openapi_fields.c: rows of a query or a body, up to one without a name. */
struct api_field;
json_t *openapi_parameters(const char *path, const struct api_field *query);
json_t *openapi_body(const struct api_field *fields);

#endif
