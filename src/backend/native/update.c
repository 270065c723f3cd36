/* SPDX-License-Identifier: Apache-2.0 */
/* What can change while a sandbox lives. All of it changes or nothing does. */
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/native/warden.h"
#include "core/check.h"
#include "core/field.h"
#include "core/spec.h"
#include "util/own.h"

/* What the spec said before: a row for whatever HUTCH_USE_UPDATE lets change. */
struct before {
    struct hutch_limits limits;
    uint64_t ttl_ms;
    uint64_t max_lifetime_ms;
    struct hutch_egress_limits egress_limits;
    struct hutch_strlist egress;
    uint64_t set_fields;
    bool is_about_egress;
};

static int copy_list(const struct hutch_strlist *from, struct hutch_strlist *to,
                     struct hutch_error *err)
{
    for (size_t i = 0; i < from->count; i++)
        if (hutch_strlist_add(to, from->items[i], err) < 0)
            return -(int)err->code;
    return 0;
}

static int fail_without_egress(const struct warden *warden, struct hutch_error *err)
{
    return hutch_fail(err, HUTCH_E_CONFLICT, 0,
                      "sandbox '%s' was made without egress and has no way out to open; make one "
                      "with '--egress none' where hosts are to be named later",
                      warden->home.name);
}

static int fail_fixed(const struct warden *warden, const char *flag, struct hutch_error *err)
{
    const char *why = "its files are in memory, of the size that it was made with";
    const char *remedy = "make a new one with";
    if (hutch_backend_has_own_images(warden->spec))
        why = "its engine changes no limits of files";
    else if (warden->keeper->pool.kind) {
        why = "its files are on disk, in a quota pool that does not count them";
        remedy = "make a new one in memory, with '--disk 256m' at most and";
    }
    return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                      "'--%s' of sandbox '%s' cannot change: %s; %s '--%s'", flag,
                      warden->home.name, why, remedy, flag);
}

/* Of limits that only a pool can change: said before anything is changed. */
static int check_layer(const struct warden *warden, const char *field, struct hutch_error *err)
{
    static const struct {
        const char *field;
        const char *flag;
        hutch_promise_set promise;
    } limits[] = {{"limits.disk", "disk", HUTCH_PROMISE_BIT(DISK)},
                  {"limits.inodes", "inodes", HUTCH_PROMISE_BIT(INODES)}};
    hutch_promise_set can_change = pool_limits(&warden->keeper->pool);
    for (size_t i = 0; i < HUTCH_COUNT(limits); i++)
        if (!strcmp(field, limits[i].field) && !(can_change & limits[i].promise))
            return fail_fixed(warden, limits[i].flag, err);
    return 0;
}

/* The first host of a new list takes the place of the old one. */
static int set_field(struct warden *warden, struct before *before, const char *field,
                     const char *text, bool *has_list, struct hutch_error *err)
{
    if (!hutch_field_is_for(field, HUTCH_USE_UPDATE))
        return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                          "%.80s cannot change while a sandbox lives; make a new one", field);
    if (!strncmp(field, "egress", 6)) {
        before->is_about_egress = true;
        if (!warden->keeper->gateway.is_wanted)
            return fail_without_egress(warden, err);
        if (!strcmp(field, "egress") && !*has_list)
            hutch_strlist_done(&warden->spec->egress);
        *has_list |= !strcmp(field, "egress");
    }
    if (check_layer(warden, field, err) < 0)
        return -(int)err->code;
    return hutch_spec_set(warden->spec, field, text, err);
}

static int set_fields(struct warden *warden, const struct wire_message *request,
                      struct before *before, struct hutch_error *err)
{
    const char *field = NULL;
    bool has_list = false;
    while ((field = wire_next(request, "field", field))) {
        const char *text = wire_next(request, "text", field);
        if (set_field(warden, before, field, text ? text : "", &has_list, err) < 0)
            return -(int)err->code;
    }
    return hutch_check_egress_rules(&warden->spec->egress, err);
}

static int set_limits(struct warden *warden, struct hutch_error *err)
{
    const struct hutch_spec *spec = warden->spec;
    struct keeper *keeper = warden->keeper;
    if (keeper->engine->set_limits(keeper, &spec->limits, err) < 0)
        return -(int)err->code;
    return !keeper->pool.kind ? 0
                              : pool_set_limits(&keeper->pool, hutch_spec_disk_bytes(spec),
                                                spec->limits.inodes, err);
}

/* The new spec is on disk when it is told of. */
static int carry_out(struct warden *warden, const struct before *before, struct hutch_error *err)
{
    hutch_autofree char *json = NULL;
    struct keeper *keeper = warden->keeper;
    if (set_limits(warden, err) < 0 || hutch_spec_to_json_set(warden->spec, &json, err) < 0 ||
        (before->is_about_egress && gateway_order(keeper, err) < 0))
        return -(int)err->code;
    return home_write_spec(&warden->home, json, err);
}

static void undo(struct warden *warden, struct before *before)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    struct hutch_spec *spec = warden->spec;
    hutch_strlist_done(&spec->egress);
    spec->egress = before->egress;
    before->egress = (struct hutch_strlist){0};
    spec->limits = before->limits;
    spec->ttl_ms = before->ttl_ms;
    spec->max_lifetime_ms = before->max_lifetime_ms;
    spec->egress_limits = before->egress_limits;
    spec->set_fields = before->set_fields;
    (void)!set_limits(warden, &ignored);
    if (before->is_about_egress && warden->keeper->gateway.is_wanted)
        (void)!gateway_order(warden->keeper, &ignored);
}

int ask_update(struct warden *warden, struct client *client, struct wire_message *request,
               struct hutch_error *err)
{
    struct before before = {.limits = warden->spec->limits,
                            .ttl_ms = warden->spec->ttl_ms,
                            .max_lifetime_ms = warden->spec->max_lifetime_ms,
                            .egress_limits = warden->spec->egress_limits,
                            .set_fields = warden->spec->set_fields};
    int status = copy_list(&warden->spec->egress, &before.egress, err);
    if (status == 0) {
        status = set_fields(warden, request, &before, err);
        if (status == 0)
            status = carry_out(warden, &before, err);
        if (status < 0)
            undo(warden, &before);
    }
    hutch_strlist_done(&before.egress);
    if (status < 0)
        return status;
    warden->idle_since_us = now_us();
    if (before.is_about_egress) /* the answer comes when the gateway has done it */
        client->order = warden->keeper->gateway.order;
    else
        client_answer_ok(client);
    return 0;
}

void clients_hear_of_order(struct warden *warden, uint32_t number,
                           const struct hutch_error *failure)
{
    for (struct client *client = warden->clients; client; client = client->next) {
        struct wire_message answer = WIRE_MESSAGE_INIT;
        if (!client->order || client->order > number)
            continue;
        client->order = 0;
        if (failure)
            wire_fail(&answer, failure);
        else
            wire_begin(&answer, "ok");
        client_answer(client, &answer);
        hutch_buf_done(&answer.text);
    }
}
