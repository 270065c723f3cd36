/* SPDX-License-Identifier: Apache-2.0 */
#include "libhutch/decision.h"

#include <string.h>
#include <unistd.h>

#include "core/field.h"
#include "store/audit.h"

int decision_begin(struct decision *decision, const char *verb, const struct hutch_asker *asker,
                   struct hutch_error *err)
{
    const struct policy_subject subject = {.tenant = asker->tenant, .uid = getuid()};
    decision->verb = verb;
    decision->by_uid = !asker->tenant;
    if (asker->policy)
        decision->set = policy_now(asker->policy);
    else if (policy_set_load(NULL, &decision->set, err) < 0)
        return -(int)err->code;
    if (decision->set)
        return policy_view_init(&decision->view, decision->set->files, &subject, err);
    if (!asker->tenant)
        return 0;
    /* without any file there are no rules for it, but what it makes is still its own */
    decision->view = (struct policy_view){.tenant = asker->tenant};
    return policy_set_empty(&decision->set, err);
}

void decision_done(struct decision *decision)
{
    decision_unclaim(decision);
    hutch_spec_over_done(&decision->over);
    hutch_strlist_done(&decision->told);
    policy_set_release(decision->set);
    decision->set = NULL;
}

int decision_make(struct decision *decision, const struct hutch_spec *spec, uint64_t asked,
                  enum hutch_use use, const struct hutch_spec **ret_spec, struct hutch_error *err)
{
    *ret_spec = spec;
    if (!decision->set)
        return 0;
    hutch_spec_over_done(&decision->over);
    hutch_spec_over_init(&decision->over, spec);
    const struct policy_request request = {&decision->over, asked, use, &decision->told};
    if (use != HUTCH_USE_UPDATE) /* a policy that has become narrower leaves nothing open */
        hutch_spec_over_forget_decided(&decision->over);
    if (use != HUTCH_USE_UPDATE && decision_paths(&decision->over, err) < 0)
        return -(int)err->code;
    if (policy_decide(&decision->view, &request, err) < 0)
        return -(int)err->code;
    *ret_spec = &decision->over.spec;
    return 0;
}

int decision_sign(struct decision *decision, struct hutch_error *err)
{
    const char *tenant = decision->view.tenant;
    if (!decision->set)
        return 0;
    if (*decision->set->hash &&
        hutch_spec_over_text(&decision->over, "policy.hash", decision->set->hash, err) < 0)
        return -(int)err->code;
    if (tenant && hutch_spec_over_text(&decision->over, "policy.tenant", tenant, err) < 0)
        return -(int)err->code;
    struct policy_audit audit = policy_audit(&decision->view);
    const char *how = audit.is_off ? "off" : audit.argv_is_digest ? "digest" : NULL;
    return how ? hutch_spec_over_text(&decision->over, "policy.audit", how, err) : 0;
}

/* ---- the record ------------------------------------------------------------------------------ */

struct event {
    const struct decision *decision;
    const struct hutch_error *refusal; /* NULL: it was allowed, with less than was asked for */
};

static void put_event(struct hutch_json_out *out, const void *userdata)
{
    const struct event *event = userdata;
    const struct decision *decision = event->decision;
    hutch_json_string(out, "what", decision->verb);
    hutch_json_string(out, "decision", event->refusal ? "refused" : "clamped");
    hutch_json_string(out, "policy", decision->set->hash);
    if (decision->view.tenant)
        hutch_json_string(out, "tenant", decision->view.tenant);
    if (event->refusal)
        hutch_json_string(out, "why", event->refusal->msg);
    if (!decision->told.count)
        return;
    hutch_json_open(out, "clamped", '[');
    for (size_t i = 0; i < decision->told.count; i++)
        hutch_json_string(out, NULL, decision->told.items[i]);
    hutch_json_close(out, ']');
}

int decision_note(struct decision *decision, int status, struct hutch_error *err)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    bool is_refused = status == -HUTCH_E_PERMISSION;
    const struct event event = {decision, is_refused ? err : NULL};
    if (!decision->set || !decision->view.count || policy_audit(&decision->view).is_off)
        return status;
    if (is_refused) /* what is refused stays refused, whatever becomes of the record */
        (void)!audit_write("policy", put_event, &event, &ignored);
    if (status < 0 || !decision->told.count || decision->is_noted)
        return status;
    decision->is_noted = true;
    return audit_write("policy", put_event, &event, err);
}

void decision_commit(struct decision *decision, struct hutch_spec *spec)
{
    if (decision->set)
        hutch_spec_over_commit(&decision->over, spec);
}
