/* SPDX-License-Identifier: Apache-2.0 */
#include "core/json_value.h"

#include <stdio.h>
#include <string.h>

/* The depth of a tree is bounded where it was read (HUTCH_DOCUMENT_MAX_DEPTH). */
static void write_list(struct hutch_json_out *out, const char *key, const struct hutch_value *value)
{
    bool is_object = value->type == HUTCH_VALUE_OBJECT;
    hutch_json_open(out, key, is_object ? '{' : '[');
    for (size_t i = 0; i < value->list.count; i++)
        hutch_json_value(out, value->list.items[i].key, &value->list.items[i]);
    hutch_json_close(out, is_object ? '}' : ']');
}

/* As many digits as tell one double from every other. */
static void write_number(struct hutch_json_out *out, const char *key, double number)
{
    char text[32];
    (void)snprintf(text, sizeof(text), "%.17g", number);
    text[strcspn(text, ",")] = text[strcspn(text, ",")] ? '.' : '\0'; /* of some languages */
    hutch_json_raw(out, key, text);
}

void hutch_json_value(struct hutch_json_out *out, const char *key, const struct hutch_value *value)
{
    switch (value->type) {
    case HUTCH_VALUE_BOOL:
        hutch_json_bool(out, key, value->boolean);
        return;
    case HUTCH_VALUE_INTEGER:
        hutch_json_int(out, key, value->integer);
        return;
    case HUTCH_VALUE_NUMBER:
        write_number(out, key, value->number);
        return;
    case HUTCH_VALUE_STRING:
        hutch_json_stringn(out, key, value->string.bytes, value->string.length);
        return;
    case HUTCH_VALUE_ARRAY:
    case HUTCH_VALUE_OBJECT:
        write_list(out, key, value);
        return;
    case HUTCH_VALUE_NULL:
    case HUTCH_VALUE_TYPES:
        break;
    }
    hutch_json_null(out, key);
}
