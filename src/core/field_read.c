/* SPDX-License-Identifier: Apache-2.0 */
/* What the types of fields share: reading values out of a document. */
#include "core/field_read.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/suggest.h"
#include "util/own.h"

int hutch_fail_kind(struct hutch_node node, const char *wanted, struct hutch_error *err)
{
    return hutch_fail(err, HUTCH_E_INVALID, 0, "%s stands where %s must be",
                      hutch_value_kind(node.value), wanted);
}

int hutch_fail_crowded(const struct hutch_field_row *row, struct hutch_error *err)
{
    return hutch_fail(err, HUTCH_E_INVALID, 0, "more than %" PRIu64 " entries, remove some",
                      row->max);
}

int hutch_read_text(struct hutch_node node, char **ret_text, struct hutch_error *err)
{
    char digits[24];
    const char *text = digits;
    if (node.value->type == HUTCH_VALUE_STRING)
        text = node.value->string.bytes;
    else if (node.value->type == HUTCH_VALUE_INTEGER)
        (void)snprintf(digits, sizeof(digits), "%" PRId64, node.value->integer);
    else
        return hutch_fail_kind(node, "a string (put it in quotes)", err);
    char *copy = strdup(text);
    if (!copy)
        return hutch_fail_nomem(err);
    *ret_text = copy;
    return 0;
}

int hutch_write_text(const char *text, const char *key, struct hutch_json_out *out,
                     struct hutch_error *err)
{
    if (text && !hutch_utf8_valid(text, strlen(text)))
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "the text is not UTF-8, so it cannot be written as JSON");
    hutch_json_string(out, key, text);
    return 0;
}

int hutch_read_quantity(struct hutch_node node, const struct hutch_range *range,
                        uint64_t *ret_value, struct hutch_error *err)
{
    hutch_autofree char *text = NULL;
    enum hutch_value_type type = node.value->type;
    if (type == HUTCH_VALUE_NUMBER)
        return hutch_range_from_real(range, node.value->number, ret_value, err);
    if (type != HUTCH_VALUE_STRING && type != HUTCH_VALUE_INTEGER)
        return hutch_fail_kind(node, "a number or a string", err);
    int r = hutch_read_text(node, &text, err);
    return r < 0 ? r : hutch_range_parse(range, text, ret_value, err);
}

int hutch_read_host_path(void *slot, struct hutch_node node, struct hutch_error *err)
{
    int r = hutch_read_text(node, slot, err);
    return r < 0 ? r : hutch_check_host_path(*(char **)slot, err);
}

int hutch_read_target(void *slot, struct hutch_node node, struct hutch_error *err)
{
    int r = hutch_read_host_path(slot, node, err);
    if (r >= 0)
        hutch_path_trim(*(char **)slot);
    return r;
}

int hutch_read_bool(void *slot, struct hutch_node node, struct hutch_error *err)
{
    if (node.value->type != HUTCH_VALUE_BOOL)
        return hutch_fail_kind(node, "true or false", err);
    *(bool *)slot = node.value->boolean;
    return 0;
}

static int fail_unknown_member(const struct hutch_field_row *row,
                               const struct hutch_member *members, size_t count, const char *name,
                               struct hutch_error *err)
{
    struct hutch_suggestion suggestion = HUTCH_SUGGESTION(name);
    for (size_t i = 0; i < count; i++)
        hutch_suggestion_offer(&suggestion, members[i].name, members[i].name);
    if (suggestion.nearest)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "unknown field '%s.%.60s', did you mean '%s.%s'?", row->name, name,
                          row->name, suggestion.nearest);
    return hutch_fail(err, HUTCH_E_INVALID, 0, "unknown field '%s.%.60s'", row->name, name);
}

static int check_required(const struct hutch_member *members, size_t count,
                          const struct hutch_value *object, struct hutch_error *err)
{
    for (size_t i = 0; i < count; i++)
        if (members[i].required && !hutch_value_get(object, members[i].name))
            return hutch_fail(err, HUTCH_E_INVALID, 0, "'%s' is missing, add it to the object",
                              members[i].name);
    return 0;
}

int hutch_read_members(const struct hutch_field_row *row, const struct hutch_member *members,
                       size_t count, void *base, struct hutch_node node, struct hutch_error *err)
{
    if (node.value->type != HUTCH_VALUE_OBJECT)
        return hutch_fail_kind(node, "a string or an object", err);
    for (size_t index = 0; index < node.value->list.count; index++) {
        struct hutch_node item = hutch_node_item(node, index);
        const char *key = item.value->key;
        size_t i = 0;
        while (i < count && strcmp(members[i].name, key) != 0)
            i++;
        if (i == count)
            return fail_unknown_member(row, members, count, key, err);
        if (members[i].read((char *)base + members[i].offset, item, err) < 0)
            return hutch_wrap(err, "%s: ", key);
    }
    return check_required(members, count, node.value, err);
}

int hutch_read_each(const struct hutch_field_row *row, void *slot, struct hutch_node node,
                    hutch_read_fn read_one, struct hutch_error *err)
{
    if (node.value->type != HUTCH_VALUE_ARRAY)
        return hutch_fail_kind(node, "a list such as [\"a\", \"b\"]", err);
    if (node.value->list.count > row->max)
        return hutch_fail_crowded(row, err);
    for (size_t i = 0; i < node.value->list.count; i++)
        if (read_one(row, slot, hutch_node_item(node, i), err) < 0)
            return hutch_wrap(err, "entry %zu: ", i + 1);
    return 0;
}

char *hutch_cut_at_last_colon(char *text)
{
    char *colon = strrchr(text, ':');
    if (colon)
        *colon++ = '\0';
    return colon;
}
