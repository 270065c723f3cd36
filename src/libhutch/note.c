/* SPDX-License-Identifier: Apache-2.0 */
#include "libhutch/note.h"

#include "backend/native/sandbox.h"
#include "store/audit.h"

static void put_name(struct hutch_json_out *out, const struct note *note)
{
    if (note->sandbox->id[0])
        hutch_json_string(out, "id", note->sandbox->id);
    hutch_json_string(out, "name", note->sandbox->home.name);
}

static void put_act(struct hutch_json_out *out, const void *userdata)
{
    const struct note *note = userdata;
    put_name(out, note);
    if (note->from)
        hutch_json_string(out, "from", note->from);
    if (note->to)
        hutch_json_string(out, "to", note->to);
    if (!note->count)
        return;
    hutch_json_open(out, "set", '{');
    for (size_t i = 0; i < note->count; i++)
        hutch_json_string(out, note->fields[i], note->texts[i]);
    hutch_json_close(out, '}');
}

/* As the policy said when the sandbox was made: ending one must not hang on a policy that is broken
 * by now. */
static bool is_wanted(const struct note *note)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    struct hutch_spec *spec = NULL;
    if (sandbox_spec(note->sandbox, &spec, &ignored) < 0)
        return true;
    bool is_off = hutch_spec_audit_is(spec, "off");
    hutch_spec_free(spec);
    return !is_off;
}

int note_begin(const struct note *note, struct hutch_error *err)
{
    return is_wanted(note) ? audit_write(note->kind, put_act, note, err) : 0;
}

struct failed {
    const struct note *note;
    enum hutch_code code;
};

static void put_failed(struct hutch_json_out *out, const void *userdata)
{
    const struct failed *failed = userdata;
    put_name(out, failed->note);
    hutch_json_string(out, "what", failed->note->kind);
    hutch_json_string(out, "error", hutch_code_name(failed->code));
}

int note_end(const struct note *note, int status, const struct hutch_error *err)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    const struct failed failed = {note, err->code};
    if (status < 0 && is_wanted(note))
        (void)!audit_write("failed", put_failed, &failed, &ignored);
    return status;
}
