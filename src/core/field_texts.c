/* SPDX-License-Identifier: Apache-2.0 */
/* The fields that are lists of texts. */
#include <stdlib.h>
#include <string.h>

#include "core/field_read.h"
#include "util/own.h"

static int texts_take(const struct hutch_field_row *row, struct hutch_strlist *list, char *text,
                      struct hutch_error *err)
{
    hutch_autofree char *own = text;
    if (!own)
        return hutch_fail_nomem(err);
    if (list->count >= row->max)
        return hutch_fail_crowded(row, err);
    int r = hutch_field_types[row->type].check(own, err);
    return r < 0 ? r : hutch_strlist_take(list, HUTCH_TAKE_PTR(own), err);
}

int hutch_texts_add_text(const struct hutch_field_row *row, void *slot, const char *text,
                         struct hutch_error *err)
{
    return texts_take(row, slot, strdup(text), err);
}

static int texts_read_one(const struct hutch_field_row *row, void *slot, struct hutch_node node,
                          struct hutch_error *err)
{
    char *text;
    int r = hutch_read_text(node, &text, err);
    return r < 0 ? r : texts_take(row, slot, text, err);
}

int hutch_texts_read(const struct hutch_field_row *row, void *slot, struct hutch_node node,
                     struct hutch_error *err)
{
    return hutch_read_each(row, slot, node, texts_read_one, err);
}

int hutch_texts_write(const struct hutch_field_row *row, const void *slot, const char *key,
                      struct hutch_json_out *out, struct hutch_error *err)
{
    const struct hutch_strlist *list = slot;
    (void)row;
    hutch_json_open(out, key, '[');
    for (size_t i = 0; i < list->count; i++)
        if (hutch_write_text(list->items[i], NULL, out, err) < 0)
            return hutch_wrap(err, "entry %zu: ", i + 1);
    hutch_json_close(out, ']');
    return 0;
}

void hutch_texts_done(void *slot)
{
    hutch_strlist_done(slot);
}
