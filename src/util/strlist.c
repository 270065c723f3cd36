/* SPDX-License-Identifier: Apache-2.0 */
#include "util/strlist.h"

#include <stdlib.h>
#include <string.h>

int hutch_strlist_take(struct hutch_strlist *list, char *text, struct hutch_error *err)
{
    if (!text)
        return hutch_fail_nomem(err);
    if (list->count + 1 >= list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 8;
        char **items = reallocarray(list->items, capacity, sizeof(*items));
        if (!items) {
            free(text);
            return hutch_fail_nomem(err);
        }
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = text;
    list->items[list->count] = NULL;
    return 0;
}

int hutch_strlist_add(struct hutch_strlist *list, const char *text, struct hutch_error *err)
{
    return hutch_strlist_take(list, strdup(text), err);
}

int hutch_strlist_addn(struct hutch_strlist *list, const char *text, size_t length,
                       struct hutch_error *err)
{
    return hutch_strlist_take(list, strndup(text, length), err);
}

bool hutch_strlist_has(const struct hutch_strlist *list, const char *text)
{
    for (size_t i = 0; i < list->count; i++)
        if (!strcmp(list->items[i], text))
            return true;
    return false;
}

void hutch_strlist_done(struct hutch_strlist *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    *list = (struct hutch_strlist){0};
}
