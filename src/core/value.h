/* SPDX-License-Identifier: Apache-2.0 */
/* What a JSON or YAML document says, as a tree. A value holds its items in itself, not pointers to
 * them, and owns all that is below it. */
#ifndef HUTCH_CORE_VALUE_H
#define HUTCH_CORE_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

/* Every reader that makes a tree keeps to these. The depth is also how deep functions that walk a
 * tree may recurse: lists and objects inside each other. */
#define HUTCH_DOCUMENT_MAX_BYTES (4u << 20)
#define HUTCH_DOCUMENT_MAX_DEPTH 64

enum hutch_value_type {
    HUTCH_VALUE_NULL,
    HUTCH_VALUE_BOOL,
    HUTCH_VALUE_INTEGER,
    HUTCH_VALUE_NUMBER, /* written with a decimal point or an exponent */
    HUTCH_VALUE_STRING,
    HUTCH_VALUE_ARRAY,
    HUTCH_VALUE_OBJECT,
    HUTCH_VALUE_TYPES,
};

/* All zero is null. */
struct hutch_value {
    enum hutch_value_type type;
    unsigned line; /* where it begins; of a member: where its key begins */
    char *key;     /* of an object's member, otherwise NULL */
    union {
        bool boolean;
        int64_t integer;
        double number;
        struct {
            char *bytes; /* UTF-8 without a NUL, and then one */
            size_t length;
        } string;
        struct {
            struct hutch_value *items; /* in the order of the document */
            size_t count;
        } list; /* of an array and of an object, whose keys are distinct */
    };
};

void hutch_value_done(struct hutch_value *value);

/* The member of an object, NULL when there is none or the value is NULL or no object. Borrowed. */
const struct hutch_value *hutch_value_get(const struct hutch_value *value, const char *key);
/* The text of a string, NULL when the value is NULL or no string. Borrowed. */
const char *hutch_value_text(const struct hutch_value *value);
/* "a string", "an object": what a value is, for messages. */
const char *hutch_value_kind(const struct hutch_value *value);

/* For readers: a new null at the end of an array or object, NULL when out of memory. It stays where
 * it is until the next one is added. */
struct hutch_value *hutch_value_add(struct hutch_value *list);
/* For readers: fails when the object has a key twice, naming it and the line of the second. */
int hutch_value_check_keys(const struct hutch_value *object, struct hutch_error *err);
/* For readers: fails when a text of this length is too long to be read. */
int hutch_value_check_size(size_t length, struct hutch_error *err);

#endif
