/* SPDX-License-Identifier: Apache-2.0 */
/* What a request brings, held against its route's tables before the handler sees it. */
#ifndef HUTCH_SERVER_BODY_H
#define HUTCH_SERVER_BODY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/api.h"

/* Reads one JSON object, once: refuses duplicate keys, bytes that are not UTF-8, NUL and what is
 * nested deeper than that. */
HUTCH_MUST_CHECK int body_parse(const char *text, size_t length, uint64_t depth, json_t **ret_body,
                                struct hutch_error *err);
/* Unknown fields, missing ones and wrong types: the message names the field. */
HUTCH_MUST_CHECK int body_check(const json_t *body, const struct api_field *fields,
                                struct hutch_error *err);
/* The members that are fields of a spec for these uses, as a document for hutch_spec_parse(). Free
 * it with free(). */
HUTCH_MUST_CHECK int body_spec_text(const json_t *body, const struct api_field *fields,
                                    char **ret_text, struct hutch_error *err);

/* "a=1&b=2" by the table: values[i] is row i's, NULL where it is not given; free them all. Fails
 * for what is unknown, given twice or of the wrong type. */
HUTCH_MUST_CHECK int query_parse(const char *query, const struct api_field *rows, char **ret_values,
                                 struct hutch_error *err);
size_t field_count(const struct api_field *rows);

/* %41 becomes A, and '+' a space in a query. NULL for what is broken, not UTF-8 or has a NUL. Free
 * it with free(). */
char *percent_decode(const char *text, size_t length, bool is_query);

#endif
