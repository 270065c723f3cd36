/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes that were authorised are the bytes that run: a body is read once, into one tree, and
 * whatever two readers could understand in two ways is refused. */
#include "server/body.h"

#include <math.h>
#include <string.h>

#include "server/nearest.h"
#include "server/util.h"

/* ---- reading --------------------------------------------------------------------------------- */

/* Before anything is built of it: what is nested deep costs stack and time. */
static bool is_deeper(const char *text, size_t length, uint64_t most)
{
    uint64_t depth = 0;
    bool is_string = false;
    for (size_t i = 0; i < length; i++) {
        if (is_string && text[i] == '\\')
            i++;
        else if (text[i] == '"')
            is_string = !is_string;
        else if (!is_string && (text[i] == '{' || text[i] == '[') && ++depth > most)
            return true;
        else if (!is_string && (text[i] == '}' || text[i] == ']') && depth)
            depth--;
    }
    return false;
}

int body_parse(const char *text, size_t length, uint64_t depth, json_t **ret_body,
               struct hutch_error *err)
{
    json_error_t said;
    if (is_deeper(text, length, depth))
        return server_fail(err, HUTCH_E_INVALID,
                           "the body is nested more than %llu levels deep, which nothing needs",
                           (unsigned long long)depth);
    json_t *body = json_loadb(text, length, JSON_REJECT_DUPLICATES, &said);
    if (!body)
        return server_fail(err, HUTCH_E_INVALID, "the body is not JSON: line %d, column %d: %s",
                           said.line, said.column, said.text);
    if (!json_is_object(body)) {
        json_decref(body);
        return server_fail(err, HUTCH_E_INVALID, "the body must be a JSON object, as in {}");
    }
    *ret_body = body;
    return 0;
}

/* ---- types ----------------------------------------------------------------------------------- */

static bool is_text(const json_t *value)
{
    return json_is_string(value);
}

static bool is_boolean(const json_t *value)
{
    return json_is_boolean(value);
}

static bool is_integer(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0;
}

static bool is_number(const json_t *value)
{
    return json_is_number(value);
}

/* Half a year is more than anything lasts here; it keeps milliseconds within their bounds, too. */
static bool is_duration(const json_t *value)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    uint64_t ms = 0;
    if (json_is_number(value))
        return json_number_value(value) >= 0 && json_number_value(value) < 16e6;
    return json_is_string(value) &&
           hutch_duration_parse(json_string_value(value), &ms, &ignored) == 0;
}

static bool is_size(const json_t *value)
{
    return json_is_string(value) || is_integer(value);
}

static bool is_texts(const json_t *value)
{
    bool is_list = json_is_array(value);
    for (size_t i = 0; is_list && i < json_array_size(value); i++)
        is_list = json_is_string(json_array_get(value, i));
    return is_list;
}

static bool is_text_map(const json_t *value)
{
    const char *key;
    json_t *item;
    if (!json_is_object(value))
        return false;
    json_object_foreach((json_t *)(uintptr_t)value, key,
                        item) if (!json_is_string(item)) return false;
    return true;
}

/* What it has to be, its handler says. */
static bool is_anything(const json_t *value)
{
    return !json_is_null(value);
}

static const struct {
    bool (*fits)(const json_t *value);
    const char *must_be;
} types[] = {
    [API_TEXT] = {is_text, "a text"},
    [API_BOOLEAN] = {is_boolean, "true or false"},
    [API_INTEGER] = {is_integer, "a whole number that is not negative"},
    [API_NUMBER] = {is_number, "a number"},
    [API_DURATION] = {is_duration, "a time such as \"30s\", or a number of seconds"},
    [API_SIZE] = {is_size, "a size such as \"512m\", or a number of bytes"},
    [API_TEXTS] = {is_texts, "a list of texts"},
    [API_TEXT_MAP] = {is_text_map, "an object whose values are texts"},
    [API_SPEC] = {NULL, NULL},
    [API_OBJECT] = {is_anything, "something"},
    [API_FORM] = {is_text, "a text"},
};

/* ---- fields ---------------------------------------------------------------------------------- */

size_t field_count(const struct api_field *rows)
{
    size_t count = 0;
    while (rows && rows[count].name)
        count++;
    return count;
}

/* Is this the first part of a field of the spec that is for these uses? */
static bool is_of_spec(const char *key, unsigned uses, struct nearest *nearest)
{
    size_t count = 0;
    const struct hutch_field *fields = hutch_fields(&count);
    for (size_t i = 0; i < count; i++) {
        size_t length = strcspn(fields[i].name, ".");
        if (!(fields[i].uses & uses))
            continue;
        if (strlen(key) == length && !strncmp(fields[i].name, key, length))
            return true;
        nearest_offer(nearest, fields[i].name, length);
    }
    return false;
}

static const struct api_field *find(const char *key, const struct api_field *rows,
                                    struct nearest *nearest)
{
    for (const struct api_field *row = rows; row->name; row++) {
        if (row->type == API_SPEC ? is_of_spec(key, row->uses, nearest) : !strcmp(row->name, key))
            return row;
        if (row->type != API_SPEC)
            nearest_offer(nearest, row->name, strlen(row->name));
    }
    return NULL;
}

static int check_member(const char *key, const json_t *value, const struct api_field *rows,
                        struct hutch_error *err)
{
    struct nearest nearest = {.written = key};
    const struct api_field *row = find(key, rows, &nearest);
    if (!row && *nearest.name)
        return server_fail(err, HUTCH_E_INVALID, "unknown field '%.80s'; did you mean '%s'?", key,
                           nearest.name);
    if (!row)
        return server_fail(err, HUTCH_E_INVALID, "unknown field '%.80s'", key);
    if (types[row->type].fits && !types[row->type].fits(value))
        return server_fail(err, HUTCH_E_INVALID, "field '%s' must be %s", row->name,
                           types[row->type].must_be);
    return 0;
}

int body_check(const json_t *body, const struct api_field *fields, struct hutch_error *err)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)body, key, value)
    {
        int status = check_member(key, value, fields, err);
        if (status < 0)
            return status;
    }
    for (const struct api_field *row = fields; row->name; row++)
        if (row->required && row->type != API_SPEC && !json_object_get(body, row->name))
            return server_fail(err, HUTCH_E_INVALID, "field '%s' is missing: %s", row->name,
                               row->doc);
    return 0;
}

int body_spec_text(const json_t *body, const struct api_field *fields, char **ret_text,
                   struct hutch_error *err)
{
    struct nearest ignored = {.written = ""};
    json_t *spec = json_object(), *value;
    const char *key;
    json_object_foreach((json_t *)(uintptr_t)body, key, value)
    {
        const struct api_field *row = find(key, fields, &ignored);
        if (row && row->type == API_SPEC)
            (void)json_object_set(spec, key, value);
    }
    char *text = spec ? json_dumps(spec, JSON_COMPACT) : NULL;
    json_decref(spec);
    if (!text)
        return server_fail_nomem(err);
    *ret_text = text;
    return 0;
}
