/* SPDX-License-Identifier: Apache-2.0 */
/* What would become of a request, without anything being made of it. */
#include "hutch/policy.h"
#include "libhutch/decision.h"
#include "libhutch/scratch.h"

int hutch_spec_decide(struct hutch_spec *spec, enum hutch_use use, hutch_policy_change_fn on_change,
                      void *userdata, struct hutch_error *err)
{
    hutch_cleanup(decision_done) struct decision decision = DECISION_INIT;
    const struct hutch_spec *decided = NULL;
    OR_SCRATCH(err);
    if (use == HUTCH_USE_RUN && hutch_spec_validate(spec, err) < 0)
        return -(int)err->code;
    if (decision_begin(&decision, "dry-run", &spec->asker, err) < 0)
        return -(int)err->code;
    int status = use == HUTCH_USE_CREATE ? decision_of_new(&decision, spec, err) : 0;
    if (status == 0)
        status = decision_unopened_image(&decision, spec, err);
    if (status == 0 && use == HUTCH_USE_RUN) {
        status = decision_make(&decision, spec, spec->set_fields, use, &decided, err);
        if (status == 0)
            decision_commit(&decision, spec);
    }
    for (size_t i = 0; status == 0 && on_change && i < decision.told.count; i++)
        on_change(userdata, decision.told.items[i]);
    return status;
}
