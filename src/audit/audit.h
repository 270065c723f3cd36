/* SPDX-License-Identifier: Apache-2.0 */
/* Answers about what was done: see hutch/audit.h. */
#ifndef HUTCH_AUDIT_AUDIT_H
#define HUTCH_AUDIT_AUDIT_H

#include "audit/database.h"
#include "hutch/audit.h"

int audit_verify(const char *expect, hutch_audit_fault_fn on_fault, void *userdata,
                 struct hutch_audit_verified *ret_verified, struct hutch_error *err);
int audit_read(const struct hutch_audit_query *query, hutch_audit_fn on_event, void *userdata,
               struct hutch_error *err);
int audit_usage(const char *by, const struct hutch_audit_query *query, hutch_audit_sum_fn on_sum,
                void *userdata, struct hutch_error *err);
int audit_prune(uint64_t older_than_ms, uint64_t *ret_removed, struct hutch_error *err);

/* Only where a life begins is it told whose it is: parameter 4 is the tenant. */
#define AUDIT_IDS_OF_TENANT                                   \
    "SELECT id FROM events WHERE begins AND json_valid(line)" \
    " AND json_extract(line, '$.tenant') = ?4"

/* query.c: a time as the events have it, so many milliseconds ago. */
#define AUDIT_TIME_BYTES 56
void audit_time_ago(uint64_t ago_ms, char ret_text[AUDIT_TIME_BYTES]);
/* "since" as a time that events are compared with. */
int audit_since(const char *text, char ret_text[AUDIT_TIME_BYTES], struct hutch_error *err);

#endif
