/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of a sandbox that stays, for the audit. */
#include "backend/native/ledger.h"
#include "backend/native/warden.h"
#include "core/spec.h"

struct exec_event {
    const struct warden *warden;
    const struct session *session;
    const struct wire_message *end;
    const struct hutch_error *failure;
};

static void put_exec(struct hutch_json_out *out, const void *userdata)
{
    const struct exec_event *exec = userdata;
    ledger_put_name(out, exec->warden);
    hutch_json_string(out, "exec", exec->session->id);
    audit_put_argv(out, exec->session->command.items, exec->session->command.count,
                   hutch_spec_audit_is(exec->warden->spec, "digest"));
}

int ledger_begin_exec(struct warden *warden, struct session *session, struct hutch_error *err)
{
    struct audit_who who;
    const struct exec_event exec = {.warden = warden, .session = session};
    const struct audit_event event = {
        .kind = "exec", .who = &who, .fields = put_exec, .userdata = &exec};
    if (!session->client || hutch_spec_audit_is(warden->spec, "off"))
        return 0; /* the sandbox's own command, or one that nobody wants to be told */
    audit_who_peer(session->client->socket, &who);
    if (audit_append(&warden->audit, &event, err) < 0)
        return -(int)err->code;
    session->is_audited = true;
    return 0;
}

static void put_exec_end(struct hutch_json_out *out, const void *userdata)
{
    const struct exec_event *exec = userdata;
    ledger_put_name(out, exec->warden);
    hutch_json_string(out, "exec", exec->session->id);
    if (exec->failure) {
        hutch_json_string(out, "reason", hutch_reason_name(HUTCH_REASON_SETUP_FAILED));
        hutch_json_string(out, "error", hutch_code_name(exec->failure->code));
        return;
    }
    hutch_json_string(out, "reason", wire_get(exec->end, "reason"));
    hutch_json_uint(out, "exit_code", wire_number(exec->end, "exit_code", 0));
    hutch_json_uint(out, "duration_ms", wire_number(exec->end, "duration_us", 0) / 1000);
    hutch_json_uint(out, "cpu_us", wire_number(exec->end, "cpu_us", 0));
}

static void end_exec(struct warden *warden, struct session *session, const struct exec_event *exec)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    const struct audit_event event = {.kind = "exec_end", .fields = put_exec_end, .userdata = exec};
    if (session->is_audited)
        (void)!audit_append(&warden->audit, &event, &ignored);
    session->is_audited = false;
}

void ledger_end_exec(struct warden *warden, struct session *session,
                     const struct wire_message *message)
{
    const struct exec_event exec = {warden, session, message, NULL};
    end_exec(warden, session, &exec);
}

void ledger_fail_exec(struct warden *warden, struct session *session,
                      const struct hutch_error *failure)
{
    const struct exec_event exec = {warden, session, NULL, failure};
    end_exec(warden, session, &exec);
}
