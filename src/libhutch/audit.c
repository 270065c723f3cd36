/* SPDX-License-Identifier: Apache-2.0 */
/* The public entry points for questions about what was done. */
#include "audit/audit.h"

#include "libhutch/decision.h"
#include "libhutch/scratch.h"

/* A caller built with a newer header may ask for something we do not know, which must not be
 * ignored. */
static int known_query(const struct hutch_audit_query *given, struct hutch_audit_query *query,
                       struct hutch_error *err)
{
    if (!given)
        return 0;
    if (given->size != sizeof(*given))
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "hutch_audit_query has size %zu instead of %zu; start from "
                          "HUTCH_AUDIT_QUERY_INIT, with the header of this library",
                          given->size, sizeof(*given));
    *query = *given;
    return 0;
}

/* What the policy does not want to be kept any longer goes before questions are answered. */
static int keep_to_retention(struct hutch_error *err)
{
    hutch_cleanup(decision_done) struct decision decision = DECISION_INIT;
    const struct hutch_asker caller = {0};
    if (decision_begin(&decision, "audit", &caller, err) < 0)
        return -(int)err->code;
    uint64_t retention_ms = decision.set ? policy_audit(&decision.view).retention_ms : 0;
    return retention_ms ? audit_prune(retention_ms, NULL, err) : 0;
}

int hutch_audit_read(const struct hutch_audit_query *given, hutch_audit_fn on_event, void *userdata,
                     struct hutch_error *err)
{
    struct hutch_audit_query query = HUTCH_AUDIT_QUERY_INIT;
    OR_SCRATCH(err);
    int status = known_query(given, &query, err);
    if (status == 0)
        status = keep_to_retention(err);
    return status < 0 ? status : audit_read(&query, on_event, userdata, err);
}

int hutch_audit_verify(const char *expect, hutch_audit_fault_fn on_fault, void *userdata,
                       struct hutch_audit_verified *ret_verified, struct hutch_error *err)
{
    OR_SCRATCH(err);
    return audit_verify(expect, on_fault, userdata, ret_verified, err);
}

int hutch_audit_usage(const char *by, const struct hutch_audit_query *given,
                      hutch_audit_sum_fn on_sum, void *userdata, struct hutch_error *err)
{
    struct hutch_audit_query query = HUTCH_AUDIT_QUERY_INIT;
    OR_SCRATCH(err);
    int status = known_query(given, &query, err);
    if (status == 0)
        status = keep_to_retention(err);
    return status < 0 ? status : audit_usage(by, &query, on_sum, userdata, err);
}

int hutch_audit_prune(uint64_t older_than_ms, uint64_t *ret_removed, struct hutch_error *err)
{
    OR_SCRATCH(err);
    return audit_prune(older_than_ms, ret_removed, err);
}
