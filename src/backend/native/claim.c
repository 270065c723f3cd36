/* SPDX-License-Identifier: Apache-2.0 */
/* A sandbox that was made ahead becomes somebody's: it gets a name, labels and a tenant.
 *
 * Its keeper does it, for nobody else may touch the name of a home that is held, and does it whole
 * within one request: whoever asked may be killed meanwhile. The name comes first, for it may be
 * taken; what it belongs to follows with the spec, by one rename. A keeper that is killed between
 * the two leaves a sandbox that is nobody's yet, as it was before. */
#include <string.h>

#include "backend/native/ledger.h"
#include "backend/native/warden.h"
#include "core/field.h"
#include "core/map.h"
#include "hutch/sandbox.h"
#include "util/own.h"

/* What changes hands. Everything else of the two specs is equal: whoever asks has compared them. */
static const char *const claimed_fields[] = {"name", "labels", "policy.tenant", "policy.hash",
                                             "policy.audit"};

static void exchange_field(struct hutch_spec *spec, struct hutch_spec *with, size_t index)
{
    union {
        char *text;
        struct hutch_map pairs;
    } kept;
    const struct hutch_field_row *row = hutch_field_row(index);
    size_t size = hutch_field_types[row->type].slot_size;
    uint64_t bit = UINT64_C(1) << index;
    uint64_t differs = (spec->set_fields ^ with->set_fields) & bit;
    memcpy(&kept, (char *)spec + row->offset, size);
    memcpy((char *)spec + row->offset, (char *)with + row->offset, size);
    memcpy((char *)with + row->offset, &kept, size);
    spec->set_fields ^= differs;
    with->set_fields ^= differs;
}

/* Done twice, it is undone. */
static void exchange(struct hutch_spec *spec, struct hutch_spec *with)
{
    for (size_t i = 0; i < HUTCH_COUNT(claimed_fields); i++)
        exchange_field(spec, with, (size_t)hutch_field_find(claimed_fields[i]));
}

void claim_prepare(const struct warden *warden)
{
    if (hutch_map_get(&warden->spec->labels, HUTCH_POOL_LABEL))
        home_prepare_exchange(&warden->home);
}

/* Not twice, and not after anybody has had it: nobody gets what another has left in it. */
static int check_unused(const struct warden *warden, const struct wire_message *request,
                        struct hutch_error *err)
{
    const char *was = wire_get(request, "was");
    uint32_t own = keeper_command(warden->keeper)->count ? 1 : 0;
    if (!was || strcmp(was, warden->home.name) != 0 || warden->is_claimed)
        return hutch_fail(err, HUTCH_E_CONFLICT, 0, "sandbox '%.72s' is somebody's already",
                          was ? was : "");
    if (warden->is_stopping || warden->record.state != HOME_RUNNING)
        return hutch_fail(err, HUTCH_E_CONFLICT, 0, "sandbox '%s' is not running",
                          warden->home.name);
    if (warden->last_number > own)
        return hutch_fail(err, HUTCH_E_CONFLICT, 0, "sandbox '%s' has been used",
                          warden->home.name);
    return 0;
}

/* What it is now is on record when it returns; its age is counted from now on. */
static int write_down(struct warden *warden, struct hutch_error *err)
{
    hutch_autofree char *json = NULL;
    warden->record.created_us = warden->record.started_us = warden_clock_us();
    warden->idle_since_us = now_us();
    if (hutch_spec_to_json_set(warden->spec, &json, err) < 0)
        return -(int)err->code;
    return home_exchange(&warden->home, &warden->record, json, err);
}

static int take_over(struct warden *warden, const struct client *client, struct hutch_spec *spec,
                     const struct ledger_life *before, struct hutch_error *err)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    if (home_publish(&warden->home, spec->name, err) < 0)
        return -(int)err->code;
    exchange(warden->spec, spec);
    int status = write_down(warden, err);
    if (status == 0)
        status = ledger_begin_life(warden, client->socket, err);
    if (status == 0)
        return 0;
    exchange(warden->spec, spec);
    (void)!write_down(warden, &ignored);
    (void)!home_publish(&warden->home, before->name, &ignored);
    return status;
}

/* When nobody waits any more, and before anybody can use it: one life of the audit ends where
 * another has begun, so that what the sandbox uses from now on is its owner's. */
static void settle(struct warden *warden, const struct ledger_life *before)
{
    if (warden->keeper->gateway.table >= 0)
        ledger_egress_begin(&warden->egress_before, warden->keeper->gateway.table);
    ledger_end_left(warden, before, "claimed");
    home_settle(&warden->home);
}

int ask_claim(struct warden *warden, struct client *client, struct wire_message *request,
              struct hutch_error *err)
{
    const char *json = wire_get(request, "spec");
    struct hutch_spec *spec = NULL;
    struct ledger_life before;
    ledger_life(warden, &before);
    if (check_unused(warden, request, err) < 0 || hutch_spec_new(&spec, err) < 0)
        return -(int)err->code;
    int status =
        hutch_spec_parse(spec, json ? json : "", json ? strlen(json) : 0, HUTCH_FORMAT_JSON, err);
    if (status == 0 && !spec->name)
        status = hutch_fail(err, HUTCH_E_INTERNAL, 0, "a claim without a name");
    if (status == 0)
        status = take_over(warden, client, spec, &before, err);
    hutch_spec_free(spec);
    if (status < 0)
        return status;
    warden->is_claimed = true;
    client_answer_ok(client);
    settle(warden, &before);
    return 0;
}
