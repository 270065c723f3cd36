/* SPDX-License-Identifier: Apache-2.0 */
/* Each kind of request and what the policy has to say to it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/native/lifecycle.h"
#include "core/field.h"
#include "libhutch/decision.h"

/* The backend comes first, for defaults depend on it, and then what it leaves open; what is read
 * from files comes last, when it is known that they may be read. */
int decision_of_new(struct decision *decision, struct hutch_spec *spec, struct hutch_error *err)
{
    const struct hutch_spec *decided = NULL;
    uint64_t asked = spec->set_fields;
    if (hutch_spec_check_use(spec, HUTCH_USE_CREATE, err) < 0)
        return -(int)err->code;
    if (decision->set) {
        hutch_spec_over_init(&decision->over, spec);
        const struct policy_request request = {&decision->over, asked, HUTCH_USE_CREATE, NULL};
        if (decision_image(decision, spec, false, err) < 0 ||
            policy_decide_backend(&decision->view, &request, err) < 0)
            return -(int)err->code;
        decision_commit(decision, spec);
    }
    if (lifecycle_defaults(spec, err) < 0 ||
        decision_make(decision, spec, asked, HUTCH_USE_CREATE, &decided, err) < 0)
        return -(int)err->code;
    decision_commit(decision, spec);
    if (lifecycle_settle(spec, err) < 0)
        return -(int)err->code;
    return hutch_spec_check(spec, false, err);
}

int decision_signed(struct decision *decision, struct hutch_spec *spec, struct hutch_error *err)
{
    if (!decision->set)
        return 0;
    hutch_spec_over_init(&decision->over, spec);
    if (decision_sign(decision, err) < 0)
        return -(int)err->code;
    decision_commit(decision, spec);
    return 0;
}

int decision_of_old(struct decision *decision, struct hutch_spec *spec, const char *except,
                    struct hutch_error *err)
{
    const struct hutch_spec *decided = NULL;
    if (!decision->set)
        return 0;
    /* where it was decided once, the tag beside its digest is what was asked for then */
    int status = decision_image(decision, spec, spec->policy.hash != NULL, err);
    if (status == 0)
        status = decision_make(decision, spec, spec->set_fields, HUTCH_USE_CREATE, &decided, err);
    if (status == 0)
        status = decision_sign(decision, err);
    if (status == 0) {
        decision_commit(decision, spec);
        status = decision_count(decision, spec, except, err);
    }
    return decision_note(decision, status, err);
}

/* A sandbox whose files are in memory has a keeper with its spec: that cannot change any more. */
static int rewrite(struct hutch_sandbox *sandbox, const char *before, struct hutch_spec *spec,
                   struct hutch_error *err)
{
    hutch_autofree char *after = NULL;
    if (hutch_spec_to_json_set(spec, &after, err) < 0)
        return -(int)err->code;
    if (!strcmp(before, after))
        return 0;
    if (home_is_held(&sandbox->home))
        return hutch_fail(err, HUTCH_E_CONFLICT, 0,
                          "sandbox '%s' was made under another policy and its keeper cannot take "
                          "on a new one; make a new sandbox",
                          sandbox->home.name);
    return home_write_spec(&sandbox->home, after, err);
}

int decision_of_start(struct decision *decision, struct hutch_sandbox *sandbox,
                      struct hutch_error *err)
{
    hutch_autofree char *before = NULL;
    struct hutch_spec *spec = NULL;
    if (!decision->set)
        return 0;
    if (sandbox_spec(sandbox, &spec, err) < 0)
        return -(int)err->code;
    int status = hutch_spec_to_json_set(spec, &before, err);
    if (status == 0)
        status = decision_of_old(decision, spec, sandbox->id, err);
    if (status == 0)
        status = rewrite(sandbox, before, spec, err);
    hutch_spec_free(spec);
    return status;
}

int decision_of_command(const struct hutch_sandbox *sandbox,
                        const struct hutch_exec_options **options, struct hutch_exec_options *own,
                        struct hutch_error *err)
{
    hutch_cleanup(decision_done) struct decision decision = DECISION_INIT;
    if (decision_begin(&decision, "exec", &sandbox->asker, err) < 0)
        return -(int)err->code;
    if (!decision.set)
        return 0;
    if (*options != own)
        *own = **options;
    *options = own;
    int status = policy_decide_timeout(&decision.view, &own->timeout_ms, err);
    return decision_note(&decision, status, err);
}

int decision_of_apply(struct hutch_sandbox *sandbox, struct hutch_error *err)
{
    hutch_cleanup(decision_done) struct decision decision = DECISION_INIT;
    struct hutch_spec *spec = NULL;
    if (decision_begin(&decision, "apply", &sandbox->asker, err) < 0)
        return -(int)err->code;
    if (!decision.set)
        return 0;
    if (sandbox_spec(sandbox, &spec, err) < 0)
        return -(int)err->code;
    const char *path = spec->workspace.path;
    hutch_autofree char *place = path ? realpath(path, NULL) : NULL;
    int status = 0; /* without a workspace there is nothing to write to, which is said elsewhere */
    if (path && !place)
        status = hutch_fail_errno(err, errno, "see where '%.300s' is", path);
    else if (place)
        status = policy_check_write(&decision.view, "workspace", place, err);
    hutch_spec_free(spec);
    return decision_note(&decision, status, err);
}

/* ---- changes --------------------------------------------------------------------------------- */

/* The spec as it would be; a list that is named is replaced. */
static int change(struct hutch_spec *spec, size_t count, const char *const *fields,
                  const char *const *texts, uint64_t *ret_asked, struct hutch_error *err)
{
    uint64_t asked = 0;
    for (size_t i = 0; i < count; i++) {
        int index = hutch_field_find(fields[i]);
        uint64_t bit = UINT64_C(1) << index;
        if (!(asked & bit) && hutch_field_set_default(spec, (size_t)index, err) < 0)
            return -(int)err->code;
        asked |= bit;
        if (hutch_spec_set(spec, fields[i], texts[i] ? texts[i] : "", err) < 0)
            return -(int)err->code;
    }
    *ret_asked = asked;
    return 0;
}

static void add_change(struct wire_message *request, const char *field, const char *text)
{
    wire_add(request, "field", field);
    wire_add(request, "text", text);
}

/* What was decided instead of what was asked for. */
static void add_decided(struct wire_message *request, const struct hutch_spec *spec, size_t index)
{
    const struct hutch_field_row *row = hutch_field_row(index);
    const struct hutch_field_type *type = &hutch_field_types[row->type];
    char text[HUTCH_QUANTITY_TEXT_SIZE];
    if (row->type == HUTCH_TYPE_EGRESS) {
        for (size_t i = 0; i < spec->egress.count; i++)
            add_change(request, row->name, spec->egress.items[i]);
        if (!spec->egress.count)
            add_change(request, row->name, "none");
        return;
    }
    uint64_t value = *(const uint64_t *)(const void *)((const char *)spec + row->offset);
    hutch_quantity_format(type->quantity, value, text);
    add_change(request, row->name, !value && type->may_be_none ? "none" : text);
}

static int decide_update(struct decision *decision, struct hutch_sandbox *sandbox,
                         struct hutch_spec *spec, uint64_t asked, struct wire_message *request,
                         struct hutch_error *err)
{
    const struct hutch_spec *decided = NULL;
    int status = decision_make(decision, spec, asked, HUTCH_USE_UPDATE, &decided, err);
    if (status == 0)
        status = decision_count(decision, decided, sandbox->id, err);
    if (decision_note(decision, status, err) < 0)
        return -(int)err->code;
    for (size_t i = 0; i < hutch_field_count(); i++)
        if (asked >> i & 1)
            add_decided(request, decided, i);
    return 0;
}

int decision_of_update(struct decision *decision, struct hutch_sandbox *sandbox, size_t count,
                       const char *const *fields, const char *const *texts,
                       struct wire_message *request, struct hutch_error *err)
{
    struct hutch_spec *spec = NULL;
    uint64_t asked = 0;
    for (size_t i = 0; i < count; i++) {
        bool can_change = hutch_field_is_for(fields[i], HUTCH_USE_UPDATE);
        if (!can_change || !decision->set)
            add_change(request, fields[i], texts[i]);
        if (!can_change) /* refused by its keeper, which is not to see what was not decided */
            return 0;
    }
    if (!decision->set)
        return 0;
    if (sandbox_spec(sandbox, &spec, err) < 0)
        return -(int)err->code;
    int status = change(spec, count, fields, texts, &asked, err);
    if (status == 0)
        status = decide_update(decision, sandbox, spec, asked, request, err);
    hutch_spec_free(spec);
    return status;
}
