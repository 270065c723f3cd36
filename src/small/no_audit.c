/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for questions about the audit in the small program, which hands them over to the
 * complete one (handover.c). It writes the journal itself. */
#include "hutch/audit.h"
#include "util/error.h"

static int fail_small(struct hutch_error *err)
{
    return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0, "this program has no database");
}

int hutch_audit_read(const struct hutch_audit_query *query, hutch_audit_fn on_event, void *userdata,
                     struct hutch_error *err)
{
    (void)query, (void)on_event, (void)userdata;
    return fail_small(err);
}

int hutch_audit_verify(const char *expect, hutch_audit_fault_fn on_fault, void *userdata,
                       struct hutch_audit_verified *ret_verified, struct hutch_error *err)
{
    (void)expect, (void)on_fault, (void)userdata, (void)ret_verified;
    return fail_small(err);
}

int hutch_audit_usage(const char *by, const struct hutch_audit_query *query,
                      hutch_audit_sum_fn on_sum, void *userdata, struct hutch_error *err)
{
    (void)by, (void)query, (void)on_sum, (void)userdata;
    return fail_small(err);
}

int hutch_audit_prune(uint64_t older_than_ms, uint64_t *ret_removed, struct hutch_error *err)
{
    (void)older_than_ms, (void)ret_removed;
    return fail_small(err);
}
