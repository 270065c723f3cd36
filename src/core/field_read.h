/* SPDX-License-Identifier: Apache-2.0 */
/* What the types of fields share: reading values out of a document. For the field_*.c files only.
 */
#ifndef HUTCH_CORE_FIELD_READ_H
#define HUTCH_CORE_FIELD_READ_H

#include "core/field.h"

/* "true stands where a string must be". */
int hutch_fail_kind(struct hutch_node node, const char *wanted, struct hutch_error *err);
/* The list or map has as many entries as its row allows. */
int hutch_fail_crowded(const struct hutch_field_row *row, struct hutch_error *err);

/* The text of a string or of an integer, which loses nothing by being taken as text. */
int hutch_read_text(struct hutch_node node, char **ret_text, struct hutch_error *err);
int hutch_read_quantity(struct hutch_node node, const struct hutch_range *range,
                        uint64_t *ret_value, struct hutch_error *err);
int hutch_write_text(const char *text, const char *key, struct hutch_json_out *out,
                     struct hutch_error *err);

/* One member of an object such as {"source": "/a", "target": "/b"}. On failure a slot that is a
 * text may be filled nevertheless: its owner releases it. */
struct hutch_member {
    const char *name;
    size_t offset; /* of its slot in the struct that is filled */
    int (*read)(void *slot, struct hutch_node node, struct hutch_error *err);
    bool required;
};

int hutch_read_host_path(void *slot, struct hutch_node node, struct hutch_error *err);
/* A path inside the sandbox, without slashes at its end. */
int hutch_read_target(void *slot, struct hutch_node node, struct hutch_error *err);
int hutch_read_bool(void *slot, struct hutch_node node, struct hutch_error *err);
int hutch_read_members(const struct hutch_field_row *row, const struct hutch_member *members,
                       size_t count, void *base, struct hutch_node node, struct hutch_error *err);

/* Calls read_one for every item of a list; errors name the entry. */
int hutch_read_each(const struct hutch_field_row *row, void *slot, struct hutch_node node,
                    hutch_read_fn read_one, struct hutch_error *err);

/* Cuts the text at its last colon and returns what follows it; NULL when there is no colon. */
char *hutch_cut_at_last_colon(char *text);

#endif
