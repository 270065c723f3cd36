/* SPDX-License-Identifier: Apache-2.0 */
/* The values that one spec's secrets have, each ready for where it goes. */
#ifndef HUTCH_SECRETS_SET_H
#define HUTCH_SECRETS_SET_H

#include "core/spec.h"
#include "secrets/secrets.h"

struct secret_item {
    const struct hutch_secret *spec; /* borrowed */
    struct secret_value text;        /* of a variable: "VAR=" before the value, a NUL behind it */
    size_t start;                    /* of the value in it */
};

struct secret_set {
    struct secret_item *items;
    size_t count;
};

static inline const char *secret_item_bytes(const struct secret_item *item)
{
    return item->text.bytes + item->start;
}

static inline size_t secret_item_length(const struct secret_item *item)
{
    return item->text.length - item->start;
}

/* All of them, or none and why. */
int secret_set_read(struct secret_set *set, const struct hutch_spec *spec,
                    enum secret_reader reader, struct hutch_error *err);
/* Releases those that have been brought into the sandbox. */
void secret_set_forget_inside(struct secret_set *set);
void secret_set_done(struct secret_set *set);

/* A memory file that has the value and nothing else. */
int secret_item_memfd(const struct secret_item *item, struct hutch_error *err);

#endif
