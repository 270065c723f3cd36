/* SPDX-License-Identifier: Apache-2.0 */
#include "hutch/policy.h"
#include "libhutch/decision.h"
#include "libhutch/scratch.h"

int hutch_policy_image(struct hutch_policy *policy, const char *tenant, const char *reference,
                       const char *digest, struct hutch_error *err)
{
    hutch_cleanup(decision_done) struct decision decision = DECISION_INIT;
    const struct hutch_asker asker = {policy, tenant};
    OR_SCRATCH(err);
    if (decision_begin(&decision, "image", &asker, err) < 0)
        return -(int)err->code;
    return decision_known_image(&decision, reference, digest, err);
}
