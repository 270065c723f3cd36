/* SPDX-License-Identifier: Apache-2.0 */
#include "image/name_set.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *one, const void *other)
{
    return strcmp(one, other);
}

int name_set_add(struct name_set *set, const char *name, struct hutch_error *err)
{
    if (name_set_has(set, name))
        return 0;
    char *copy = strdup(name);
    if (copy && tsearch(copy, &set->root, compare))
        return 0;
    free(copy);
    return hutch_fail_nomem(err);
}

bool name_set_has(const struct name_set *set, const char *name)
{
    return tfind(name, &set->root, compare) != NULL;
}

void name_set_done(struct name_set *set)
{
    tdestroy(set->root, free);
    set->root = NULL;
}
