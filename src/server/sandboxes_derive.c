/* SPDX-License-Identifier: Apache-2.0 */
/* What comes of a sandbox: a second one, a snapshot, what it has changed. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "http/http.h"
#include "hutch/image.h"
#include "server/request.h"
#include "server/sandboxes.h"
#include "server/text.h"
#include "server/util.h"

void handle_fork(struct api_call *call)
{
    struct hutch_sandbox *sandbox = NULL, *copy = NULL;
    struct hutch_error err = HUTCH_ERROR_INIT;
    if (api_sandbox(call, &sandbox) < 0)
        return;
    int status = hutch_sandbox_fork(sandbox, api_body_text(call, "name"), &copy, &err);
    hutch_sandbox_free(sandbox);
    if (status == 0)
        sandbox_reply(call, 201, copy);
    else
        api_fail(call, &err);
}

/* ---- snapshots ------------------------------------------------------------------------------- */

/* Images are everybody's: who could name one as another's could give that one something else to
 * run. */
static int make_image(struct api_call *call, const struct hutch_sandbox *sandbox,
                      const char *reference, struct hutch_error *err)
{
    const struct hutch_image_options options = HUTCH_IMAGE_OPTIONS_INIT;
    char digest[HUTCH_IMAGE_DIGEST_BYTES];
    if (api_who(call)->scope < API_ADMIN)
        return server_fail(err, HUTCH_E_PERMISSION,
                           "an image is everybody's, so making one takes a token of scope admin; "
                           "'name' keeps the files as a sandbox of your own");
    return hutch_image_snapshot(hutch_sandbox_name(sandbox), reference, &options, digest, err);
}

void handle_snapshot(struct api_call *call)
{
    struct hutch_sandbox *sandbox = NULL;
    struct hutch_error err = HUTCH_ERROR_INIT;
    const char *reference = api_body_text(call, "reference");
    const char *name = api_body_text(call, "name");
    if (!reference == !name) {
        api_problem(call, 400, "invalid",
                    "give 'reference' for an image or 'name' for a sandbox that is stopped, and "
                    "one of them only");
        return;
    }
    if (api_sandbox(call, &sandbox) < 0)
        return;
    int status = reference ? make_image(call, sandbox, reference, &err)
                           : hutch_sandbox_snapshot(sandbox, name, &err);
    hutch_sandbox_free(sandbox);
    if (status < 0)
        api_fail(call, &err);
    else
        api_reply(call, 201,
                  json_pack("{s:s,s:s}", "name", reference ? reference : name, "kind",
                            reference ? "image" : "sandbox"));
}

/* ---- back into the workspace ----------------------------------------------------------------- */

static void note_conflict(void *userdata, const char *path, const char *why)
{
    json_t *list = userdata;
    server_autofree char *readable = text_readable(path, strlen(path));
    if (readable)
        (void)json_array_append_new(list, json_pack("{s:s,s:s}", "path", readable, "why", why));
}

void handle_apply(struct api_call *call)
{
    struct hutch_sandbox *sandbox = NULL;
    struct hutch_applied applied = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    bool dry_run = api_body_flag(call, "dry_run", false);
    if (api_sandbox(call, &sandbox) < 0)
        return;
    json_t *list = json_array();
    int status = request_check_places(call, "workspace", &err);
    if (status == 0)
        status = hutch_sandbox_apply(sandbox, dry_run, note_conflict, list, &applied, &err);
    hutch_sandbox_free(sandbox);
    if (status == 0) {
        api_reply(call, 200,
                  json_pack("{s:I,s:I,s:I,s:I,s:o,s:b}", "added", (json_int_t)applied.added,
                            "modified", (json_int_t)applied.modified, "deleted",
                            (json_int_t)applied.deleted, "conflicts", (json_int_t)applied.conflicts,
                            "left_alone", list, "dry_run", dry_run));
        return;
    }
    json_decref(list);
    api_fail(call, &err);
}

/* ---- what differs ---------------------------------------------------------------------------- */

/* Written as it is found: there may be a hundred thousand paths. */
struct diff {
    struct api_call *call;
    FILE *file; /* NULL: the answer has not begun */
    size_t count;
    bool has_failed;
};

static bool begin(struct diff *diff)
{
    int fd = SERVER_NO_FD;
    if (diff->file || diff->has_failed)
        return !diff->has_failed;
    if (api_stream(diff->call, 200, "application/json", HTTP_LENGTH_UNKNOWN, &fd) < 0) {
        diff->has_failed = true;
        return false;
    }
    diff->file = fdopen(dup(fd), "w");
    diff->has_failed = !diff->file || fputs("{\"changes\":[", diff->file) < 0;
    return !diff->has_failed;
}

static int tell_change(void *userdata, const char *kind, const char *path)
{
    struct diff *diff = userdata;
    server_autofree char *readable = text_readable(path, strlen(path));
    json_t *change = readable ? json_pack("{s:s,s:s}", "kind", kind, "path", readable) : NULL;
    bool goes_on = change && begin(diff) && (!diff->count++ || fputc(',', diff->file) != EOF) &&
                   json_dumpf(change, diff->file, JSON_COMPACT) == 0;
    json_decref(change);
    diff->has_failed |= !goes_on;
    return goes_on ? 0 : 1;
}

static void tell_changes(struct api_call *call, struct hutch_sandbox *sandbox)
{
    struct diff diff = {.call = call};
    struct hutch_error err = HUTCH_ERROR_INIT;
    int status = hutch_sandbox_changes(sandbox, tell_change, &diff, &err);
    if (status < 0 && !diff.file && !diff.has_failed) {
        api_fail(call, &err);
        return;
    }
    if (status == 0 && begin(&diff))
        (void)fputs("]}", diff.file);
    bool is_whole = diff.file && fclose(diff.file) == 0 && status == 0 && !diff.has_failed;
    if (!is_whole)
        api_cut(call);
}

/* Said before the answer begins: afterwards it could only be cut. */
static bool has_overlay(const struct hutch_sandbox *sandbox)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    server_autofree char *text = NULL;
    struct hutch_spec *spec = NULL;
    if (hutch_sandbox_spec(sandbox, &spec, &ignored) < 0)
        return false;
    int status = hutch_spec_to_json(spec, &text, &ignored);
    hutch_spec_free(spec);
    json_t *whole = status == 0 ? json_loads(text, 0, NULL) : NULL;
    const char *mode =
        json_string_value(json_object_get(json_object_get(whole, "workspace"), "mode"));
    bool is_overlay = mode && !strcmp(mode, "overlay");
    json_decref(whole);
    return is_overlay;
}

static void tell_patch(struct api_call *call, struct hutch_sandbox *sandbox)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    int fd = SERVER_NO_FD;
    if (!has_overlay(sandbox)) {
        api_problem(call, 409, "conflict",
                    "sandbox '%s' has no workspace of mode overlay to compare; leave 'workspace' "
                    "out for what differs from its root",
                    hutch_sandbox_name(sandbox));
        return;
    }
    if (api_stream(call, 200, "text/x-diff", HTTP_LENGTH_UNKNOWN, &fd) == 0 &&
        hutch_sandbox_diff(sandbox, fd, &err) < 0)
        api_cut(call);
}

void handle_diff(struct api_call *call)
{
    struct hutch_sandbox *sandbox = NULL;
    if (api_sandbox(call, &sandbox) < 0)
        return;
    (api_query_flag(call, "workspace") ? tell_patch : tell_changes)(call, sandbox);
    hutch_sandbox_free(sandbox);
}
