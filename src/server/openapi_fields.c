/* SPDX-License-Identifier: Apache-2.0 */
/* What goes in, as JSON Schema. */
#include <string.h>

#include "server/api.h"
#include "server/openapi.h"
#include "server/util.h"

/* The schema of a value, as the reader of bodies takes it. */
static json_t *type_of(enum api_type type)
{
    static const struct {
        const char *type;
        const char *other; /* NULL: there is one way to write it */
    } types[] = {
        [API_TEXT] = {"string", NULL},
        [API_BOOLEAN] = {"boolean", NULL},
        [API_INTEGER] = {"integer", NULL},
        [API_NUMBER] = {"number", NULL},
        [API_DURATION] = {"string", "number"},
        [API_SIZE] = {"string", "integer"},
        [API_TEXTS] = {"array", NULL},
        [API_TEXT_MAP] = {"object", NULL},
        [API_SPEC] = {NULL, NULL},
        [API_OBJECT] = {NULL, NULL},
        [API_FORM] = {NULL, NULL},
    };
    const char *name = types[type].type;
    if (type == API_FORM)
        return json_pack("{s:s,s:[s,s]}", "type", "string", "enum", "sse", "ndjson");
    if (type == API_TEXTS)
        return json_pack("{s:s,s:{s:s}}", "type", name, "items", "type", "string");
    if (type == API_TEXT_MAP)
        return json_pack("{s:s,s:{s:s}}", "type", name, "additionalProperties", "type", "string");
    if (type == API_INTEGER)
        return json_pack("{s:s,s:i}", "type", name, "minimum", 0);
    if (types[type].other)
        return json_pack("{s:[s,s]}", "type", name, types[type].other);
    return name ? json_pack("{s:s}", "type", name) : json_object();
}

/* ---- parameters ------------------------------------------------------------------------------ */

static int add_path_parameters(json_t *list, const char *path)
{
    int failed = 0;
    for (const char *at = strchr(path, '{'); at; at = strchr(at, '{')) {
        size_t length = strcspn(++at, "}");
        failed |= json_array_append_new(
            list,
            json_pack("{s:s%,s:s,s:b,s:s,s:{s:s}}", "name", at, length, "in", "path", "required", 1,
                      "description", !strncmp(at, "id}", 3) ? "A sandbox's id or name." : "Its id.",
                      "schema", "type", "string"));
    }
    return failed;
}

json_t *openapi_parameters(const char *path, const struct api_field *query)
{
    json_t *list = json_array();
    int failed = add_path_parameters(list, path);
    for (const struct api_field *row = query; row && row->name; row++)
        failed |= json_array_append_new(
            list, json_pack("{s:s,s:s,s:b,s:s,s:o}", "name", row->name, "in", "query", "required",
                            row->required, "description", row->doc, "schema", type_of(row->type)));
    if (!failed)
        return list;
    json_decref(list);
    return NULL;
}

/* ---- bodies ---------------------------------------------------------------------------------- */

/* "limits.memory" is the member "memory" of the object "limits". What kind of value a field of a
 * spec takes, its own sentence says: many can be written in more ways than one. One whose flag
 * takes no value is true or false. */
static int add_spec_field(json_t *properties, const struct hutch_field *field)
{
    size_t length = strcspn(field->name, ".");
    json_t *leaf = json_pack("{s:s}", "description", field->doc);
    if (field->default_text)
        (void)json_object_set_new(leaf, "examples", json_pack("[s]", field->default_text));
    if (field->flag && !field->metavar)
        (void)json_object_set_new(leaf, "type", json_string("boolean"));
    if (!field->name[length])
        return json_object_set_new(properties, field->name, leaf);
    json_t *group = json_object_getn(properties, field->name, length);
    if (!group) {
        group = json_pack("{s:s,s:{}}", "type", "object", "properties");
        if (json_object_setn_new(properties, field->name, length, group) < 0)
            return -1;
    }
    return json_object_set_new(json_object_get(group, "properties"), field->name + length + 1,
                               leaf);
}

static int add_spec(json_t *properties, unsigned uses)
{
    size_t count;
    int failed = 0;
    const struct hutch_field *fields = hutch_fields(&count);
    for (size_t i = 0; i < count; i++)
        if (fields[i].uses & uses)
            failed |= add_spec_field(properties, &fields[i]);
    return failed;
}

static int add_field(json_t *properties, json_t *required, const struct api_field *row)
{
    if (row->type == API_SPEC)
        return add_spec(properties, row->uses);
    json_t *type = type_of(row->type);
    int failed = json_object_set_new(type, "description", json_string(row->doc));
    failed |= json_object_set_new(properties, row->name, type);
    if (row->required)
        failed |= json_array_append_new(required, json_string(row->name));
    return failed;
}

json_t *openapi_body(const struct api_field *fields)
{
    json_t *properties = json_object(), *required = json_array();
    int failed = 0;
    for (const struct api_field *row = fields; row->name; row++)
        failed |= add_field(properties, required, row);
    bool is_required = json_array_size(required) > 0;
    json_t *body =
        json_pack("{s:b,s:{s:{s:{s:s,s:o,s:o,s:b}}}}", "required", is_required, "content",
                  "application/json", "schema", "type", "object", "properties", properties,
                  "required", required, "additionalProperties", 0);
    if (!failed)
        return body;
    json_decref(body);
    return NULL;
}
