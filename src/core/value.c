/* SPDX-License-Identifier: Apache-2.0 */
#include "core/value.h"

#include <stdlib.h>
#include <string.h>

#include "util/own.h"

static bool is_list(const struct hutch_value *value)
{
    return value->type == HUTCH_VALUE_ARRAY || value->type == HUTCH_VALUE_OBJECT;
}

void hutch_value_done(struct hutch_value *value)
{
    free(value->key);
    if (value->type == HUTCH_VALUE_STRING)
        free(value->string.bytes);
    if (is_list(value)) {
        for (size_t i = 0; i < value->list.count; i++)
            hutch_value_done(&value->list.items[i]);
        free(value->list.items);
    }
    *value = (struct hutch_value){0};
}

const struct hutch_value *hutch_value_get(const struct hutch_value *value, const char *key)
{
    if (!value || value->type != HUTCH_VALUE_OBJECT)
        return NULL;
    for (size_t i = 0; i < value->list.count; i++)
        if (!strcmp(value->list.items[i].key, key))
            return &value->list.items[i];
    return NULL;
}

const char *hutch_value_text(const struct hutch_value *value)
{
    return value && value->type == HUTCH_VALUE_STRING ? value->string.bytes : NULL;
}

const char *hutch_value_kind(const struct hutch_value *value)
{
    static const char *const kinds[HUTCH_VALUE_TYPES] = {
        [HUTCH_VALUE_NULL] = "null",        [HUTCH_VALUE_BOOL] = "false",
        [HUTCH_VALUE_INTEGER] = "a number", [HUTCH_VALUE_NUMBER] = "a number",
        [HUTCH_VALUE_STRING] = "a string",  [HUTCH_VALUE_ARRAY] = "a list",
        [HUTCH_VALUE_OBJECT] = "an object",
    };
    return value->type == HUTCH_VALUE_BOOL && value->boolean ? "true" : kinds[value->type];
}

/* The room is always a power of two, so the count tells when it is full. */
struct hutch_value *hutch_value_add(struct hutch_value *list)
{
    size_t count = list->list.count;
    if ((count & (count - 1)) == 0) {
        size_t room = count ? count * 2 : 1;
        struct hutch_value *items = reallocarray(list->list.items, room, sizeof(*items));
        if (!items)
            return NULL;
        list->list.items = items;
    }
    struct hutch_value *added = &list->list.items[count];
    *added = (struct hutch_value){0};
    list->list.count++;
    return added;
}

/* By key; of two that are the same, the first of the document first. */
static int compare_members(const void *a, const void *b)
{
    const struct hutch_value *first = *(const struct hutch_value *const *)a;
    const struct hutch_value *second = *(const struct hutch_value *const *)b;
    int order = strcmp(first->key, second->key);
    return order ? order : (first > second) - (first < second);
}

/* The first member, by its place in the document, whose key an earlier one has. */
static const struct hutch_value *find_duplicate(const struct hutch_value **sorted, size_t count)
{
    const struct hutch_value *found = NULL;
    for (size_t i = 1; i < count; i++)
        if (!strcmp(sorted[i - 1]->key, sorted[i]->key) && (!found || sorted[i] < found))
            found = sorted[i];
    return found;
}

/* Sorted, because comparing each key with every other would take minutes for the largest document.
 */
int hutch_value_check_keys(const struct hutch_value *object, struct hutch_error *err)
{
    size_t count = object->list.count;
    if (count < 2)
        return 0;
    hutch_autofree const struct hutch_value **sorted = reallocarray(NULL, count, sizeof(void *));
    if (!sorted)
        return hutch_fail_nomem(err);
    for (size_t i = 0; i < count; i++)
        sorted[i] = &object->list.items[i];
    qsort(sorted, count, sizeof(void *), compare_members);
    const struct hutch_value *twice = find_duplicate(sorted, count);
    if (!twice)
        return 0;
    return hutch_fail(err, HUTCH_E_INVALID, 0, "line %u: duplicate key '%.80s', leave one of them",
                      twice->line, twice->key);
}

int hutch_value_check_size(size_t length, struct hutch_error *err)
{
    if (length <= HUTCH_DOCUMENT_MAX_BYTES)
        return 0;
    return hutch_fail(err, HUTCH_E_INVALID, 0, "the document has %zu bytes, the most is %u", length,
                      HUTCH_DOCUMENT_MAX_BYTES);
}
