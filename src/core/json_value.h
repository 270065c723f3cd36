/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_CORE_JSON_VALUE_H
#define HUTCH_CORE_JSON_VALUE_H

#include "core/value.h"
#include "util/json_out.h"

/* Writes a tree as JSON. key is NULL for an element of an array or the document itself. */
void hutch_json_value(struct hutch_json_out *out, const char *key, const struct hutch_value *value);

#endif
