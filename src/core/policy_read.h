/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that read a policy share. For policy_*.c only. */
#ifndef HUTCH_CORE_POLICY_READ_H
#define HUTCH_CORE_POLICY_READ_H

#include "core/field_read.h"
#include "core/policy.h"

#define POLICY_MAX_ENTRIES 4096 /* of a list */

/* Is the field a quantity, for which there can be a default and a ceiling? */
bool policy_field_is_limit(size_t field);

int policy_fail_kind(struct hutch_node node, const char *wanted, struct hutch_error *err);

/* A key that there is, but as one inside another: to suggest it would be to repeat it. */
int policy_fail_dotted(const char *path, struct hutch_error *err);

int policy_read_limit(struct hutch_node node, const struct hutch_range *range,
                      struct policy_limit *ret_limit, struct hutch_error *err);
int policy_read_limits(struct policy_limit limits[POLICY_FIELDS], bool are_defaults,
                       struct hutch_node node, struct hutch_error *err);
int policy_read_totals(struct policy_limit totals[POLICY_TOTAL_COUNT], struct hutch_node node,
                       struct hutch_error *err);
/* {name: NAME, delivery: [env, file, edge]} */
int policy_read_secret(struct policy_entry *entry, struct hutch_node node, struct hutch_error *err);
/* A key below a group ("" at the top) and all that it holds. */
int policy_read_key(struct policy_rules *rules, const char *group, struct hutch_node node,
                    struct hutch_error *err);
int policy_read_tenants(struct policy_file *file, struct hutch_node node, struct hutch_error *err);

/* policy_check.c: what an entry of each list must look like. */
int policy_check_backend(char *text, struct hutch_error *err);
int policy_check_place(char *text, struct hutch_error *err);
int policy_check_secret(char *text, struct hutch_error *err);
int policy_check_label(char *text, struct hutch_error *err);

#endif
