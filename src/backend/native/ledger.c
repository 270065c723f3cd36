/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/native/ledger.h"

#include <stdio.h>
#include <string.h>

#include "backend/native/warden.h"
#include "core/isolation.h"
#include "core/spec.h"
#include "util/own.h"

/* ---- what was asked for ---------------------------------------------------------------------- */

static void put_limits(struct hutch_json_out *out, const struct hutch_spec *spec)
{
    const struct hutch_limits *limits = &spec->limits;
    const struct {
        const char *key;
        uint64_t value;
    } rows[] = {
        {"memory_bytes", limits->memory_bytes},
        {"cpus_milli", limits->cpus_milli},
        {"pids", limits->pids},
        {"disk_bytes", hutch_spec_disk_bytes(spec)},
        {"timeout_ms", limits->timeout_ms},
        {"idle_timeout_ms", limits->idle_timeout_ms},
        {"ttl_ms", spec->ttl_ms},
        {"max_lifetime_ms", spec->max_lifetime_ms},
    };
    hutch_json_open(out, "limits", '{');
    for (size_t i = 0; i < HUTCH_COUNT(rows); i++)
        if (rows[i].value)
            hutch_json_uint(out, rows[i].key, rows[i].value);
    hutch_json_close(out, '}');
}

/* The host's files that it can see. */
static void put_mounts(struct hutch_json_out *out, const struct hutch_spec *spec)
{
    static const char *const modes[] = {[HUTCH_WORKSPACE_RW] = "rw",
                                        [HUTCH_WORKSPACE_RO] = "ro",
                                        [HUTCH_WORKSPACE_OVERLAY] = "overlay",
                                        [HUTCH_WORKSPACE_COPY] = "copy"};
    if (spec->workspace.path) {
        hutch_json_string(out, "workspace", spec->workspace.path);
        hutch_json_string(out, "workspace_mode", modes[spec->workspace.mode]);
    }
    if (!spec->mounts.count)
        return;
    hutch_json_open(out, "mounts", '[');
    for (size_t i = 0; i < spec->mounts.count; i++) {
        hutch_json_open(out, NULL, '{');
        hutch_json_string(out, "source", spec->mounts.items[i].source);
        hutch_json_string(out, "target", spec->mounts.items[i].target);
        hutch_json_bool(out, "read_only", spec->mounts.items[i].read_only);
        hutch_json_close(out, '}');
    }
    hutch_json_close(out, ']');
}

static void put_labels(struct hutch_json_out *out, const struct hutch_spec *spec)
{
    if (!spec->labels.count)
        return;
    hutch_json_open(out, "labels", '{');
    for (size_t i = 0; i < spec->labels.count; i++)
        hutch_json_string(out, spec->labels.items[i].key, spec->labels.items[i].value);
    hutch_json_close(out, '}');
}

/* By name: values are never known here. */
static void put_secrets(struct hutch_json_out *out, const struct hutch_spec *spec)
{
    if (!spec->secrets.count)
        return;
    hutch_json_open(out, "secrets", '[');
    for (size_t i = 0; i < spec->secrets.count; i++)
        hutch_json_string(out, NULL, spec->secrets.items[i].name);
    hutch_json_close(out, ']');
}

static void put_egress_rules(struct hutch_json_out *out, const struct hutch_spec *spec)
{
    if (!spec->egress.count)
        return;
    hutch_json_open(out, "egress_rules", '[');
    for (size_t i = 0; i < spec->egress.count; i++)
        hutch_json_string(out, NULL, spec->egress.items[i]);
    hutch_json_close(out, ']');
}

static void put_image(struct hutch_json_out *out, const struct keeper *keeper)
{
    const struct hutch_spec *spec = keeper->spec;
    if (spec->rootfs)
        hutch_json_string(out, "rootfs", spec->rootfs);
    if (spec->image)
        hutch_json_string(out, "image", spec->image);
    if (keeper->image && keeper->image->image.digest[0])
        hutch_json_string(out, "image_digest", keeper->image->image.digest);
}

static void put_missing(struct hutch_json_out *out, hutch_promise_set missing)
{
    if (!missing)
        return;
    hutch_json_open(out, "missing", '[');
    for (unsigned i = 0; i < HUTCH_PROMISE_COUNT; i++)
        if (missing >> i & 1)
            hutch_json_string(out, NULL, hutch_promise_name((enum hutch_promise)i));
    hutch_json_close(out, ']');
}

static void put_sandbox(struct hutch_json_out *out, const struct keeper *keeper)
{
    const struct hutch_spec *spec = keeper->spec;
    const struct hutch_strlist *command = keeper_command(keeper);
    hutch_json_string(out, "backend", hutch_spec_backend(spec));
    if (command->count)
        audit_put_argv(out, command->items, command->count, hutch_spec_audit_is(spec, "digest"));
    put_image(out, keeper);
    if (spec->user)
        hutch_json_string(out, "user", spec->user);
    put_limits(out, spec);
    put_mounts(out, spec);
    put_labels(out, spec);
    put_egress_rules(out, spec);
    put_secrets(out, spec);
    put_missing(out, keeper->missing);
    if (spec->policy.hash)
        hutch_json_string(out, "policy", spec->policy.hash);
    if (spec->policy.tenant)
        hutch_json_string(out, "tenant", spec->policy.tenant);
}

/* ---- how it ended ---------------------------------------------------------------------------- */

static void put_usage(struct hutch_json_out *out, const struct hutch_usage *usage,
                      uint64_t duration_us)
{
    hutch_json_uint(out, "duration_ms", duration_us / 1000);
    hutch_json_open(out, "usage", '{');
    hutch_json_uint(out, "cpu_us", usage->cpu_us);
    if (usage->has_memory_peak)
        hutch_json_uint(out, "memory_peak_bytes", usage->memory_peak_bytes);
    if (usage->has_pids_peak)
        hutch_json_uint(out, "pids_peak", usage->pids_peak);
    hutch_json_close(out, '}');
}

/* ---- runs ------------------------------------------------------------------------------------ */

static void put_run(struct hutch_json_out *out, const void *userdata)
{
    const struct keeper *keeper = userdata;
    audit_put_life(out, 0);
    hutch_json_string(out, "id", keeper->id);
    put_sandbox(out, keeper);
}

int ledger_begin_run(struct keeper *keeper, struct hutch_error *err)
{
    const struct audit_event event = {
        .kind = "run", .fields = put_run, .userdata = keeper, .begins_life = true};
    if (!keeper->options || hutch_spec_audit_is(keeper->spec, "off"))
        return 0;
    if (audit_open(&keeper->audit, err) < 0)
        return -(int)err->code;
    return audit_append(&keeper->audit, &event, err);
}

struct run_end {
    const struct keeper *keeper;
    const struct hutch_result *result;
    const struct hutch_error *failure;
    struct hutch_usage usage;
};

static const struct ledger_egress none_before = {0};

static void put_run_end(struct hutch_json_out *out, const void *userdata)
{
    const struct run_end *end = userdata;
    const struct hutch_result *result = end->result;
    audit_put_life(out, end->keeper->audit.life);
    hutch_json_string(out, "id", end->keeper->id);
    if (!result) {
        hutch_json_string(out, "reason", hutch_reason_name(HUTCH_REASON_SETUP_FAILED));
        hutch_json_string(out, "error", hutch_code_name(end->failure->code));
        return;
    }
    hutch_json_string(out, "reason", hutch_reason_name(result->reason));
    hutch_json_int(out, "exit_code", result->exit_code);
    if (result->error.code)
        hutch_json_string(out, "error", hutch_code_name(result->error.code));
    put_usage(out, &end->usage, result->duration_us);
    ledger_put_egress(out, result->egress, &none_before);
}

void ledger_end_run(struct keeper *keeper, const struct hutch_result *result,
                    const struct hutch_error *failure)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    struct run_end end = {.keeper = keeper, .result = result, .failure = failure};
    const struct audit_event event = {
        .kind = "end", .fields = put_run_end, .userdata = &end, .ends_life = keeper->audit.life};
    if (!keeper->audit.life)
        return;
    if (result) {
        end.usage = keeper_usage(keeper);
        ledger_note_denied(&keeper->audit, keeper->id, NULL, result->egress, 0);
    }
    (void)!audit_append(&keeper->audit, &event, &ignored);
}

/* ---- sandboxes that stay --------------------------------------------------------------------- */

static void put_name(struct hutch_json_out *out, const struct warden *warden, const char *name)
{
    hutch_json_string(out, "id", warden->record.id);
    hutch_json_string(out, "name", name);
}

void ledger_put_name(struct hutch_json_out *out, const struct warden *warden)
{
    put_name(out, warden, warden->home.name);
}

static void put_life(struct hutch_json_out *out, const void *userdata)
{
    const struct warden *warden = userdata;
    audit_put_life(out, 0);
    ledger_put_name(out, warden);
    put_sandbox(out, warden->keeper);
}

int ledger_begin_life(struct warden *warden, int asker, struct hutch_error *err)
{
    struct audit_who who;
    const struct audit_event event = {.kind = warden->verb,
                                      .who = &who,
                                      .fields = put_life,
                                      .userdata = warden,
                                      .begins_life = true};
    if (hutch_spec_audit_is(warden->spec, "off"))
        return 0;
    audit_who_peer(asker, &who);
    if (warden->audit.head < 0 && audit_open(&warden->audit, err) < 0)
        return -(int)err->code;
    return audit_append(&warden->audit, &event, err);
}

struct life_end {
    const struct warden *warden;
    const struct ledger_life *life;
    const char *reason;
    struct hutch_egress *egress; /* NULL: without egress */
    struct hutch_usage usage;
    uint64_t up_us;
};

static void put_life_end(struct hutch_json_out *out, const void *userdata)
{
    const struct life_end *end = userdata;
    const struct warden *warden = end->warden;
    audit_put_life(out, end->life->number);
    put_name(out, warden, end->life->name);
    hutch_json_string(out, "reason", end->reason);
    if (warden->failure.code)
        hutch_json_string(out, "error", hutch_code_name(warden->failure.code));
    if (warden->is_removing)
        hutch_json_bool(out, "removed", true);
    if (warden->keeper)
        put_usage(out, &end->usage, end->up_us);
    ledger_put_egress(out, end->egress, &end->life->egress_before);
}

void ledger_life(const struct warden *warden, struct ledger_life *ret_life)
{
    *ret_life = (struct ledger_life){.number = warden->audit.life,
                                     .started_us = warden->record.started_us,
                                     .egress_before = warden->egress_before};
    memcpy(ret_life->name, warden->home.name, sizeof(ret_life->name));
}

/* What the groups have counted is read also where no caller wants to know it; but no group is made
 * for it alone. */
static void read_usage(struct keeper *keeper, struct hutch_usage *usage)
{
    struct cgroup_events events;
    if (keeper->engine == &native_engine)
        cgroup_read_usage(&keeper->cgroup, usage);
    else
        (void)keeper->engine->read_usage(keeper, usage, &events);
    if (keeper->rusage_cpu_us > usage->cpu_us)
        usage->cpu_us = keeper->rusage_cpu_us;
}

void ledger_end_left(struct warden *warden, const struct ledger_life *life, const char *reason)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    uint64_t now = warden_clock_us();
    struct life_end end = {.warden = warden, .life = life, .reason = reason};
    const struct audit_event event = {
        .kind = "end", .fields = put_life_end, .userdata = &end, .ends_life = life->number};
    if (!life->number)
        return;
    if (warden->keeper)
        read_usage(warden->keeper, &end.usage);
    if (now > life->started_us)
        end.up_us = now - life->started_us;
    if (warden->keeper && warden->keeper->gateway.table >= 0 &&
        egress_table_read(warden->keeper->gateway.table, &end.egress, &ignored) == 0)
        ledger_note_denied(&warden->audit, warden->record.id, life->name, end.egress,
                           life->started_us);
    (void)!audit_append(&warden->audit, &event, &ignored);
    hutch_egress_free(end.egress);
}

void ledger_end_life(struct warden *warden)
{
    struct ledger_life life;
    ledger_life(warden, &life);
    ledger_end_left(warden, &life, warden->reason ? warden->reason : "failed");
}
