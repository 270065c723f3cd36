/* SPDX-License-Identifier: Apache-2.0 */
/* What to run and in which surroundings. One table of fields (hutch_fields) is the source of every
 * name: the command line's flags, the keys of JSON and YAML documents and hutch_spec_set() all read
 * it. */
#ifndef HUTCH_SPEC_H
#define HUTCH_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hutch/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hutch_spec;

/* What a field is for. */
enum hutch_use {
    HUTCH_USE_RUN = 1,    /* hutch_run() */
    HUTCH_USE_CREATE = 2, /* hutch_sandbox_create() */
    HUTCH_USE_UPDATE = 4, /* hutch_sandbox_update() */
};

struct hutch_field {
    const char *name;         /* path in a document, such as "limits.memory" */
    const char *flag;         /* long flag without dashes, NULL when there is none */
    char short_flag;          /* 0 when there is none */
    bool repeats;             /* the flag may be given many times */
    const char *metavar;      /* what a value looks like, such as "SIZE" */
    const char *default_text; /* NULL when empty by default */
    const char *doc;          /* one sentence */
    unsigned uses;            /* enum hutch_use, added up: elsewhere it is refused */
};

/* The table; *ret_count rows. */
HUTCH_API const struct hutch_field *hutch_fields(size_t *ret_count);

HUTCH_API HUTCH_MUST_CHECK int hutch_spec_new(struct hutch_spec **ret_spec,
                                              struct hutch_error *err);
HUTCH_API void hutch_spec_free(struct hutch_spec *spec);

/* Sets one field from text as the command line would ("limits.memory", "512m"); lists and maps grow
 * by one entry. */
HUTCH_API HUTCH_MUST_CHECK int hutch_spec_set(struct hutch_spec *spec, const char *field,
                                              const char *text, struct hutch_error *err);
/* Replaces the command. */
HUTCH_API HUTCH_MUST_CHECK int hutch_spec_set_command(struct hutch_spec *spec, size_t argc,
                                                      const char *const *argv,
                                                      struct hutch_error *err);

/* A duration as people write it ("500ms", "30s", "5m"), in milliseconds. */
HUTCH_API HUTCH_MUST_CHECK int hutch_duration_parse(const char *text, uint64_t *ret_ms,
                                                    struct hutch_error *err);

enum hutch_format { HUTCH_FORMAT_JSON, HUTCH_FORMAT_YAML };

/* Reads a document into the spec. Unknown fields and duplicate keys are errors that name the field.
 */
HUTCH_API HUTCH_MUST_CHECK int hutch_spec_parse(struct hutch_spec *spec, const char *text,
                                                size_t length, enum hutch_format format,
                                                struct hutch_error *err);
/* Checks what no single field can know: a command is there, targets are distinct and allowed. Looks
 * at nothing on the host; hutch_run() begins with it. */
HUTCH_API HUTCH_MUST_CHECK int hutch_spec_validate(const struct hutch_spec *spec,
                                                   struct hutch_error *err);
/* The whole spec, defaults included, as one JSON document. Free it with free(). */
HUTCH_API HUTCH_MUST_CHECK int hutch_spec_to_json(const struct hutch_spec *spec, char **ret_json,
                                                  struct hutch_error *err);

#ifdef __cplusplus
}
#endif
#endif
