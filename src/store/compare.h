/* SPDX-License-Identifier: Apache-2.0 */
/* What kind of change a pair of entries is. */
#ifndef HUTCH_STORE_COMPARE_H
#define HUTCH_STORE_COMPARE_H

#include "store/changes.h"
#include "store/walk.h"

struct store_comparison {
    mode_t mode_mask;  /* the permission bits that count */
    bool ignore_owner; /* otherwise upper.st_uid and st_gid are compared as they are */
};

/* The kind, or a negative code. A file that cannot be compared because it is gone by now is
 * HUTCH_CHANGE_NONE. */
int store_compare(const struct store_pair *pair, const struct store_comparison *how,
                  struct hutch_error *err);
/* Where a link points. Returns 0, or -1 with errno. */
int store_read_link(int dir, const char *name, char **ret_target);

#endif
