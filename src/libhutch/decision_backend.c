/* SPDX-License-Identifier: Apache-2.0 */
#include "core/isolation.h"
#include "libhutch/decision.h"

int decision_backend(const struct hutch_spec *spec, const char **ret_backend,
                     struct hutch_error *err)
{
    hutch_cleanup(decision_done) struct decision decision = DECISION_INIT;
    if (decision_begin(&decision, "build", &spec->asker, err) < 0)
        return -(int)err->code;
    hutch_spec_over_init(&decision.over, spec);
    const struct policy_request request = {&decision.over, spec->set_fields, HUTCH_USE_RUN,
                                           &decision.told};
    if (decision.set && policy_decide_backend(&decision.view, &request, err) < 0)
        return -(int)err->code;
    *ret_backend = hutch_backend_name(hutch_spec_backend(&decision.over.spec));
    return 0;
}
