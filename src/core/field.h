/* SPDX-License-Identifier: Apache-2.0 */
/* The spec's fields: one table of rows (field.c), each of a type, which is one row of a table of
 * operations (field_types.c). Nothing else knows how a field is read, written or released. */
#ifndef HUTCH_CORE_FIELD_H
#define HUTCH_CORE_FIELD_H

#include "core/check.h"
#include "core/document.h"
#include "core/quantity.h"
#include "core/spec.h"
#include "util/json_out.h"

enum hutch_type {
    HUTCH_TYPE_NAME,
    HUTCH_TYPE_HOSTNAME,
    HUTCH_TYPE_USER,
    HUTCH_TYPE_WORKDIR,
    HUTCH_TYPE_HOST_PATH,
    HUTCH_TYPE_IMAGE,
    HUTCH_TYPE_PULL,
    HUTCH_TYPE_ISOLATION,
    HUTCH_TYPE_SIZE,
    HUTCH_TYPE_SIZE_OR_NONE,
    HUTCH_TYPE_DURATION,
    HUTCH_TYPE_DURATION_OR_NONE,
    HUTCH_TYPE_CPUS,
    HUTCH_TYPE_COUNT,
    HUTCH_TYPE_ARGUMENTS,
    HUTCH_TYPE_VARIABLE_NAMES,
    HUTCH_TYPE_HOST_PATHS,
    HUTCH_TYPE_PROMISES,
    HUTCH_TYPE_VARIABLES,
    HUTCH_TYPE_LABELS,
    HUTCH_TYPE_WORKSPACE,
    HUTCH_TYPE_MOUNTS,
    HUTCH_TYPE_TMPFS,
    HUTCH_TYPE_EGRESS,
    HUTCH_TYPE_RANGES,
    HUTCH_TYPE_PROXY,
    HUTCH_TYPE_DIGEST,
    HUTCH_TYPE_SECRET_NAME,
    HUTCH_TYPE_SECRETS,
    HUTCH_TYPE_SWITCH,
    HUTCH_TYPES,
};

/* Longer than any field's name, so a path that was cut off is an unknown one. */
#define HUTCH_FIELD_PATH_BYTES 128

/* The half of a row that is not public. */
struct hutch_field_row {
    const char *name;
    enum hutch_type type;
    size_t offset; /* of the field's slot in struct hutch_spec */
    uint64_t min;  /* of a quantity */
    uint64_t max;  /* of a quantity; of a list or map: how many entries */
};

typedef int (*hutch_read_fn)(const struct hutch_field_row *row, void *slot, struct hutch_node node,
                             struct hutch_error *err);

/* A slot is the field's place in a spec. All zero is its empty value. */
struct hutch_field_type {
    size_t slot_size;
    /* Sets an empty slot; a list or a map gains an entry. Leaves the slot alone on failure. */
    int (*add_text)(const struct hutch_field_row *row, void *slot, const char *text,
                    struct hutch_error *err);
    /* Fills an empty slot from a document. On failure the slot may hold anything that done() can
     * release. */
    hutch_read_fn read;
    int (*write)(const struct hutch_field_row *row, const void *slot, const char *key,
                 struct hutch_json_out *out, struct hutch_error *err);
    void (*done)(void *slot);
    hutch_text_check_fn check;    /* of a text, or of each text in a list */
    enum hutch_quantity quantity; /* of a limit */
    bool may_be_none;             /* a limit that may be none, kept as 0 */
};

extern const struct hutch_field_type hutch_field_types[HUTCH_TYPES];

/* More rows than bits in set_fields do not compile. */
size_t hutch_field_count(void);
const struct hutch_field_row *hutch_field_row(size_t index);

/* Has it the value that it would have if it had not been given? */
bool hutch_field_is_default(const struct hutch_spec *spec, size_t index);
bool hutch_field_is_for(const char *name, enum hutch_use use);
/* Index of the field with this name, -1 when there is none. */
int hutch_field_find(const char *name);
/* Does any field's name begin with "name."? */
bool hutch_field_is_group(const char *name);
/* "unknown field 'limits.memroy', did you mean 'limits.memory'?" */
int hutch_field_fail_unknown(const char *name, struct hutch_error *err);

int hutch_field_set_default(struct hutch_spec *spec, size_t index, struct hutch_error *err);
int hutch_field_add_text(struct hutch_spec *spec, size_t index, const char *text,
                         struct hutch_error *err);
/* Replaces the whole field, also a list or a map. null brings back the default. */
int hutch_field_read(struct hutch_spec *spec, size_t index, struct hutch_node node,
                     struct hutch_error *err);
int hutch_field_write(const struct hutch_spec *spec, size_t index, const char *key,
                      struct hutch_json_out *out, struct hutch_error *err);
/* The same of a field that was given: what is written, read back, gives it again. */
int hutch_field_write_set(const struct hutch_spec *spec, size_t index, const char *key,
                          struct hutch_json_out *out, struct hutch_error *err);
void hutch_field_done(struct hutch_spec *spec, size_t index);

/* The operations of the types that have a file of their own, field_<noun>.c. */
#define HUTCH_FIELD_OPS(noun)                                                                      \
    int hutch_##noun##_add_text(const struct hutch_field_row *row, void *slot, const char *text,   \
                                struct hutch_error *err);                                          \
    int hutch_##noun##_read(const struct hutch_field_row *row, void *slot, struct hutch_node node, \
                            struct hutch_error *err);                                              \
    int hutch_##noun##_write(const struct hutch_field_row *row, const void *slot, const char *key, \
                             struct hutch_json_out *out, struct hutch_error *err);                 \
    void hutch_##noun##_done(void *slot);

HUTCH_FIELD_OPS(texts)
HUTCH_FIELD_OPS(egress)
HUTCH_FIELD_OPS(pairs)
HUTCH_FIELD_OPS(workspace)
HUTCH_FIELD_OPS(mounts)
HUTCH_FIELD_OPS(tmpfs)
HUTCH_FIELD_OPS(secrets)
#undef HUTCH_FIELD_OPS

#endif
