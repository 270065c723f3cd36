/* SPDX-License-Identifier: Apache-2.0 */
/* The list of hosts: texts like others, and the word that empties it. */
#include <string.h>

#include "core/field_read.h"

int hutch_egress_add_text(const struct hutch_field_row *row, void *slot, const char *text,
                          struct hutch_error *err)
{
    if (strcmp(text, "none") != 0)
        return hutch_texts_add_text(row, slot, text, err);
    hutch_texts_done(slot);
    memset(slot, 0, sizeof(struct hutch_strlist));
    return 0;
}

int hutch_egress_read(const struct hutch_field_row *row, void *slot, struct hutch_node node,
                      struct hutch_error *err)
{
    return hutch_texts_read(row, slot, node, err);
}

int hutch_egress_write(const struct hutch_field_row *row, const void *slot, const char *key,
                       struct hutch_json_out *out, struct hutch_error *err)
{
    return hutch_texts_write(row, slot, key, out, err);
}

void hutch_egress_done(void *slot)
{
    hutch_texts_done(slot);
}
