/* SPDX-License-Identifier: Apache-2.0 */
/* A set of names that stays fast when somebody else chooses how many there are. */
#ifndef HUTCH_IMAGE_NAME_SET_H
#define HUTCH_IMAGE_NAME_SET_H

#include <stdbool.h>

#include "util/error.h"

struct name_set {
    void *root; /* of a tree as <search.h> makes it */
};

int name_set_add(struct name_set *set, const char *name, struct hutch_error *err) HUTCH_MUST_CHECK;
bool name_set_has(const struct name_set *set, const char *name);
void name_set_done(struct name_set *set);

#endif
