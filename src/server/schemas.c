/* SPDX-License-Identifier: Apache-2.0 */
#include "server/schemas.h"

#include <string.h>

static const struct schema *const tables[] = {
    schemas_of_sandboxes,
    schemas_of_host,
    schemas_of_streams,
};

static const char *const plain_types[] = {"string", "integer", "number", "boolean", "object"};

static bool is_plain(const char *type, size_t length)
{
    for (size_t i = 0; i < sizeof(plain_types) / sizeof(plain_types[0]); i++)
        if (strlen(plain_types[i]) == length && !strncmp(plain_types[i], type, length))
            return true;
    return false;
}

static json_t *of_type(const char *type, size_t length);

/* Null beside what it is otherwise: a plain type becomes two, anything else an alternative. */
static json_t *or_null(const char *type, size_t length)
{
    if (is_plain(type, length))
        return json_pack("{s:[s%,s]}", "type", type, length, "null");
    return json_pack("{s:[o,{s:s}]}", "anyOf", of_type(type, length), "type", "null");
}

/* One before the sign, another behind it. */
static json_t *either(const char *type, size_t length, size_t sign)
{
    return json_pack("{s:[o,o]}", "anyOf", of_type(type, sign),
                     of_type(type + sign + 1, length - sign - 1));
}

static json_t *of_type(const char *type, size_t length)
{
    const char *sign = memchr(type, '|', length);
    if (sign)
        return either(type, length, (size_t)(sign - type));
    int last = length > 0 ? type[length - 1] : '\0';
    if (last == '?')
        return or_null(type, length - 1);
    if (last == ']')
        return json_pack("{s:s,s:o}", "type", "array", "items", of_type(type + 1, length - 2));
    if (last == '}')
        return json_pack("{s:s,s:o}", "type", "object", "additionalProperties",
                         of_type(type + 1, length - 2));
    if (is_plain(type, length))
        return json_pack("{s:s%}", "type", type, length);
    if (length == 3 && !strncmp(type, "any", 3))
        return json_object();
    return json_pack("{s:s+%}", "$ref", "#/components/schemas/", type, length);
}

json_t *schema_of_type(const char *type)
{
    return of_type(type, strlen(type));
}

static json_t *of_schema(const struct schema *schema)
{
    json_t *properties = json_object(), *required = json_array();
    int failed = 0;
    for (const struct schema_property *row = schema->properties; row->name; row++) {
        json_t *type = schema_of_type(row->type);
        failed |= json_object_set_new(type, "description", json_string(row->doc));
        failed |= json_object_set_new(properties, row->name, type);
        if (!row->is_optional)
            failed |= json_array_append_new(required, json_string(row->name));
    }
    json_t *whole =
        json_pack("{s:s,s:s,s:o,s:o,s:b}", "type", "object", "description", schema->doc,
                  "properties", properties, "required", required, "additionalProperties", 0);
    if (!failed)
        return whole;
    json_decref(whole);
    return NULL;
}

json_t *schemas_to_json(void)
{
    json_t *all = json_object();
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        for (const struct schema *schema = tables[i]; schema->name; schema++)
            if (json_object_set_new(all, schema->name, of_schema(schema)) < 0) {
                json_decref(all);
                return NULL;
            }
    return all;
}
