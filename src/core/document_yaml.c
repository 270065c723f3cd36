/* SPDX-License-Identifier: Apache-2.0 */
/* libyaml's events become values. Only what JSON can say too is taken: plain scalars are
 * null, true, false or numbers exactly where they look so, and everything else is a string;
 * anchors, aliases, tags and a second document are refused, because each of them makes a reader see
 * another document than the one on the page. */
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "core/document.h"
#include "core/json_in.h"
#include "util/own.h"

struct reader {
    yaml_parser_t parser;
    unsigned depth;
    struct hutch_error *err;
};

static unsigned line_of(const yaml_mark_t *mark)
{
    return (unsigned)mark->line + 1;
}

static int fail_at(struct reader *reader, const yaml_event_t *event, const char *problem)
{
    return hutch_fail(reader->err, HUTCH_E_INVALID, 0, "line %u: %s", line_of(&event->start_mark),
                      problem);
}

static int next_event(struct reader *reader, yaml_event_t *ret_event)
{
    const yaml_parser_t *parser = &reader->parser;
    if (yaml_parser_parse(&reader->parser, ret_event))
        return 0;
    if (parser->error == YAML_MEMORY_ERROR)
        return hutch_fail_nomem(reader->err);
    return hutch_fail(reader->err, HUTCH_E_INVALID, 0, "line %u: %s",
                      line_of(&parser->problem_mark),
                      parser->problem ? parser->problem : "this is not YAML");
}

static bool is_one_of(const char *text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(text, words[i]))
            return true;
    return false;
}

static bool take_constant(const char *text, struct hutch_value *value)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL"};
    static const char *const trues[] = {"true", "True", "TRUE"};
    static const char *const falses[] = {"false", "False", "FALSE"};
    if (is_one_of(text, nulls, HUTCH_COUNT(nulls)))
        return true; /* as it is already */
    bool is_true = is_one_of(text, trues, HUTCH_COUNT(trues));
    if (!is_true && !is_one_of(text, falses, HUTCH_COUNT(falses)))
        return false;
    value->type = HUTCH_VALUE_BOOL;
    value->boolean = is_true;
    return true;
}

/* A number is what JSON takes for one ("007", "0x1f" and ".5" are strings), so that text is never
 * lost where a string was meant. */
static bool take_number(const char *text, size_t length, struct hutch_value *value)
{
    struct hutch_value number = {0};
    bool starts_like_one = *text == '-' || (*text >= '0' && *text <= '9');
    if (!starts_like_one || !strcmp(text, "-0") ||
        hutch_json_parse(text, length, &number, NULL) < 0)
        return false;
    value->type = number.type;
    if (number.type == HUTCH_VALUE_INTEGER)
        value->integer = number.integer;
    else
        value->number = number.number;
    return true;
}

static int read_scalar(struct reader *reader, const yaml_event_t *event, struct hutch_value *value)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    if (strlen(text) != length)
        return fail_at(reader, event, "a NUL byte cannot be part of a value");
    if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
        (take_constant(text, value) || take_number(text, length, value)))
        return 0;
    char *copy = strdup(text);
    if (!copy)
        return hutch_fail_nomem(reader->err);
    value->type = HUTCH_VALUE_STRING;
    value->string.bytes = copy;
    value->string.length = length;
    return 0;
}

static int read_value(struct reader *reader, const yaml_event_t *event, struct hutch_value *value);

/* Reads the items of a sequence up to its end. */
static int fill_array(struct reader *reader, struct hutch_value *array)
{
    for (;;) {
        hutch_cleanup(yaml_event_delete) yaml_event_t event = {0};
        int r = next_event(reader, &event);
        if (r < 0 || event.type == YAML_SEQUENCE_END_EVENT)
            return r;
        struct hutch_value *item = hutch_value_add(array);
        if (!item)
            return hutch_fail_nomem(reader->err);
        r = read_value(reader, &event, item);
        if (r < 0)
            return r;
    }
}

static int check_key(struct reader *reader, const yaml_event_t *event)
{
    if (event->type != YAML_SCALAR_EVENT)
        return fail_at(reader, event, "a key must be a plain word");
    if (event->data.scalar.anchor || event->data.scalar.tag)
        return fail_at(reader, event, "a key takes neither an anchor nor a tag");
    if (strlen((const char *)event->data.scalar.value) != event->data.scalar.length)
        return fail_at(reader, event, "a NUL byte cannot be part of a key");
    return 0;
}

/* Reads one key and its value. */
static int read_member(struct reader *reader, struct hutch_value *object, const yaml_event_t *key)
{
    hutch_cleanup(yaml_event_delete) yaml_event_t event = {0};
    int r = check_key(reader, key);
    if (r < 0)
        return r;
    hutch_autofree char *own_key = strdup((const char *)key->data.scalar.value);
    if (!own_key)
        return hutch_fail_nomem(reader->err);
    r = next_event(reader, &event);
    if (r < 0)
        return r;
    struct hutch_value *member = hutch_value_add(object);
    if (!member)
        return hutch_fail_nomem(reader->err);
    member->key = HUTCH_TAKE_PTR(own_key);
    r = read_value(reader, &event, member);
    member->line = line_of(&key->start_mark);
    return r;
}

static int fill_object(struct reader *reader, struct hutch_value *object)
{
    for (;;) {
        hutch_cleanup(yaml_event_delete) yaml_event_t key = {0};
        int r = next_event(reader, &key);
        if (r < 0)
            return r;
        if (key.type == YAML_MAPPING_END_EVENT)
            return hutch_value_check_keys(object, reader->err);
        r = read_member(reader, object, &key);
        if (r < 0)
            return r;
    }
}

static int read_list(struct reader *reader, const yaml_event_t *event, struct hutch_value *list)
{
    bool is_object = event->type == YAML_MAPPING_START_EVENT;
    if (reader->depth >= HUTCH_DOCUMENT_MAX_DEPTH)
        return fail_at(reader, event, "the document is nested too deeply");
    list->type = is_object ? HUTCH_VALUE_OBJECT : HUTCH_VALUE_ARRAY;
    reader->depth++;
    int r = is_object ? fill_object(reader, list) : fill_array(reader, list);
    reader->depth--;
    return r;
}

/* The anchor and the tag sit in a different place in each kind of event. */
static bool has_extras(const yaml_event_t *event)
{
    if (event->type == YAML_SCALAR_EVENT)
        return event->data.scalar.anchor || event->data.scalar.tag;
    if (event->type == YAML_SEQUENCE_START_EVENT)
        return event->data.sequence_start.anchor || event->data.sequence_start.tag;
    return event->data.mapping_start.anchor || event->data.mapping_start.tag;
}

/* What was read before a failure stays in the value, whose owner releases it. */
static int read_value(struct reader *reader, const yaml_event_t *event, struct hutch_value *value)
{
    value->line = line_of(&event->start_mark);
    if (event->type == YAML_ALIAS_EVENT)
        return fail_at(reader, event, "aliases are not taken, write the value again");
    if (has_extras(event))
        return fail_at(reader, event,
                       "anchors and tags are not taken, write the value out and quote strings");
    if (event->type == YAML_SCALAR_EVENT)
        return read_scalar(reader, event, value);
    return read_list(reader, event, value);
}

static int expect(struct reader *reader, yaml_event_type_t type, const char *otherwise)
{
    hutch_cleanup(yaml_event_delete) yaml_event_t event = {0};
    int r = next_event(reader, &event);
    if (r < 0)
        return r;
    return event.type == type ? 0 : fail_at(reader, &event, otherwise);
}

static int read_root(struct reader *reader, struct hutch_value *root)
{
    hutch_cleanup(yaml_event_delete) yaml_event_t event = {0};
    int r = next_event(reader, &event);
    return r < 0 ? r : read_value(reader, &event, root);
}

static int read_stream(struct reader *reader, struct hutch_value *root)
{
    int r = expect(reader, YAML_STREAM_START_EVENT, "this is not YAML");
    if (r >= 0)
        r = expect(reader, YAML_DOCUMENT_START_EVENT, "the document is empty");
    if (r >= 0)
        r = read_root(reader, root);
    if (r >= 0)
        r = expect(reader, YAML_DOCUMENT_END_EVENT, "this is not YAML");
    if (r >= 0)
        r = expect(reader, YAML_STREAM_END_EVENT,
                   "a second document begins here, only one is taken");
    return r;
}

int hutch_yaml_parse(const char *text, size_t length, struct hutch_value *ret_value,
                     struct hutch_error *err)
{
    hutch_cleanup(hutch_value_done) struct hutch_value root = {0};
    struct reader reader = {.err = err};
    int r = hutch_value_check_size(length, err);
    if (r < 0)
        return r;
    if (!yaml_parser_initialize(&reader.parser))
        return hutch_fail_nomem(err);
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text, length);
    yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
    r = read_stream(&reader, &root);
    yaml_parser_delete(&reader.parser);
    if (r < 0)
        return r;
    *ret_value = root;
    root = (struct hutch_value){0};
    return 0;
}
