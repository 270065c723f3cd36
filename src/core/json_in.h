/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_CORE_JSON_IN_H
#define HUTCH_CORE_JSON_IN_H

#include "core/value.h"

/* Reads one JSON value, as RFC 8259 has it and nothing more. The text needs no NUL at its end.
 * Messages begin with the line, but for a text that is too large. */
int hutch_json_parse(const char *text, size_t length, struct hutch_value *ret_value,
                     struct hutch_error *err);

#endif
