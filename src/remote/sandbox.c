/* SPDX-License-Identifier: Apache-2.0 */
/* Sandboxes that are the daemon's: a handle is a name, and what was told of it last. */
#include "remote/sandbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/spec.h"
#include "remote/body.h"
#include "remote/client.h"
#include "remote/files.h"
#include "util/own.h"

static void take_words(struct hutch_sandbox *sandbox)
{
    const char *name = remote_text(sandbox->about, "name");
    const char *state = remote_text(sandbox->about, "state");
    (void)snprintf(sandbox->name, sizeof(sandbox->name), "%s", name ? name : "");
    (void)snprintf(sandbox->state, sizeof(sandbox->state), "%s", state ? state : "");
}

int remote_sandbox_take(json_t *about, struct hutch_sandbox **ret_sandbox, struct hutch_error *err)
{
    struct hutch_sandbox *sandbox = calloc(1, sizeof(*sandbox));
    if (!sandbox) {
        json_decref(about);
        return hutch_fail_nomem(err);
    }
    sandbox->about = about;
    sandbox->is_fresh = true;
    take_words(sandbox);
    if (!sandbox->name[0] || !sandbox->state[0]) {
        hutch_sandbox_free(sandbox);
        return remote_fail_strange(err, "a sandbox without a name");
    }
    *ret_sandbox = sandbox;
    return 0;
}

void hutch_sandbox_free(struct hutch_sandbox *sandbox)
{
    if (!sandbox)
        return;
    json_decref(sandbox->about);
    free(sandbox);
}

/* ---- making and finding ---------------------------------------------------------------------- */

int hutch_sandbox_create(struct hutch_spec *spec, struct hutch_sandbox **ret_sandbox,
                         struct hutch_error *err)
{
    const char *sent = remote_sent_workspace(spec);
    struct hutch_sandbox *sandbox = NULL;
    json_t *body = NULL, *answer = NULL;
    if (sent && spec->command.count)
        return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                          "the command would begin before the workspace has been sent; leave it "
                          "out here, and start it with 'hutch exec -d'");
    if (remote_body_of_spec(spec, &body, err) < 0)
        return -(int)err->code;
    struct remote_call call =
        REMOTE_CALL(remote_path("/api/sandboxes/"), .method = "POST", .body = body);
    if (remote_do(&call, &answer, err) < 0 || remote_sandbox_take(answer, &sandbox, err) < 0)
        return -(int)err->code;
    if (sent && remote_send_directory(sandbox, sent, "/workspace", err) < 0) {
        struct hutch_error ignored = HUTCH_ERROR_INIT; /* a sandbox without its files is none */
        int lost = hutch_sandbox_remove(sandbox, true, &ignored);
        (void)lost;
        hutch_sandbox_free(sandbox);
        return -(int)err->code;
    }
    *ret_sandbox = sandbox;
    return 0;
}

int hutch_sandbox_open(const char *name, struct hutch_sandbox **ret_sandbox,
                       struct hutch_error *err)
{
    json_t *answer = NULL;
    if (!*name)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "a sandbox's name is not empty");
    struct remote_call call = REMOTE_CALL(remote_path("/api/sandboxes/{}", name));
    int failed = remote_do(&call, &answer, err);
    if (failed == -HUTCH_E_NOT_FOUND)
        return hutch_fail(err, HUTCH_E_NOT_FOUND, 0,
                          "there is no sandbox '%.64s'; 'hutch ls' lists those there are", name);
    return failed ? failed : remote_sandbox_take(answer, ret_sandbox, err);
}

int hutch_sandbox_list(hutch_sandbox_fn on_sandbox, void *userdata, struct hutch_error *err)
{
    remote_autojson json_t *answer = NULL;
    struct remote_call call = REMOTE_CALL(remote_path("/api/sandboxes/"));
    size_t index;
    json_t *row;
    if (remote_do(&call, &answer, err) < 0)
        return -(int)err->code;
    const json_t *list = remote_list(answer, "sandboxes", err);
    if (!list)
        return -(int)err->code;
    json_array_foreach(list, index, row)
    {
        struct hutch_sandbox *sandbox = NULL;
        if (remote_sandbox_take(json_incref(row), &sandbox, err) < 0)
            return -(int)err->code;
        int status = on_sandbox(userdata, sandbox);
        hutch_sandbox_free(sandbox);
        if (status)
            return status;
    }
    return 0;
}

/* ---- what is known --------------------------------------------------------------------------- */

static int ask_again(const struct hutch_sandbox *handle, struct hutch_error *err)
{
    /* the handle is const to its owner: what is known of the sandbox is not part of it */
    struct hutch_sandbox *sandbox = (struct hutch_sandbox *)(uintptr_t)handle;
    json_t *answer = NULL;
    struct remote_call call = REMOTE_CALL(remote_path("/api/sandboxes/{}", sandbox->name));
    if (remote_do(&call, &answer, err) < 0)
        return -(int)err->code;
    json_decref(sandbox->about);
    sandbox->about = answer;
    take_words(sandbox);
    return 0;
}

/* Asks again, unless what is known has just come. */
static int refresh(const struct hutch_sandbox *handle, struct hutch_error *err)
{
    struct hutch_sandbox *sandbox = (struct hutch_sandbox *)(uintptr_t)handle;
    if (!sandbox->is_fresh)
        return ask_again(sandbox, err);
    sandbox->is_fresh = false;
    return 0;
}

const char *hutch_sandbox_name(const struct hutch_sandbox *sandbox)
{
    return sandbox->name;
}

/* A list tells less of each: then it is asked for. */
static const json_t *spec_of(const struct hutch_sandbox *sandbox)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    if (!json_object_get(sandbox->about, "spec"))
        (void)ask_again(sandbox, &ignored);
    return json_object_get(sandbox->about, "spec");
}

bool hutch_sandbox_has_label(const struct hutch_sandbox *sandbox, const char *label)
{
    const json_t *labels = json_object_get(spec_of(sandbox), "labels");
    const char *equals = strchr(label, '=');
    char key[256];
    size_t length = equals ? (size_t)(equals - label) : strlen(label);
    if (length >= sizeof(key))
        return false;
    memcpy(key, label, length);
    key[length] = '\0';
    const char *value = remote_text(labels, key);
    return value && (!equals || !strcmp(value, equals + 1));
}

bool hutch_sandbox_has_image(const struct hutch_sandbox *sandbox)
{
    return remote_text(spec_of(sandbox), "image") != NULL;
}

int hutch_sandbox_info(const struct hutch_sandbox *sandbox, struct hutch_sandbox_info *ret_info,
                       struct hutch_error *err)
{
    if (refresh(sandbox, err) < 0)
        return -(int)err->code;
    const json_t *about = sandbox->about;
    const char *id = remote_text(about, "id"), *reason = remote_text(about, "reason");
    const char *layer = remote_text(about, "writable_layer");
    if (!strcmp(sandbox->state, "damaged"))
        return hutch_fail(err, HUTCH_E_INTERNAL, 0, "the record of sandbox '%s' cannot be read",
                          sandbox->name);
    *ret_info =
        (struct hutch_sandbox_info){.state = sandbox->state,
                                    .on_disk = layer && !strcmp(layer, "disk"),
                                    .created_us = remote_number(about, "created_ms", 0) * 1000,
                                    .started_us = remote_number(about, "started_ms", 0) * 1000,
                                    .ended_us = remote_number(about, "ended_ms", 0) * 1000};
    (void)snprintf(ret_info->name, sizeof(ret_info->name), "%s", sandbox->name);
    (void)snprintf(ret_info->id, sizeof(ret_info->id), "%s", remote_is_id(id) ? id : "");
    (void)snprintf(ret_info->reason, sizeof(ret_info->reason), "%s", reason ? reason : "");
    return 0;
}

/* The daemon says some things twice, for other clients; here they are as a sandbox of this machine
 * shows them. */
int hutch_sandbox_to_json(struct hutch_sandbox *sandbox, char **ret_json, struct hutch_error *err)
{
    static const char *const keys[] = {"name",          "id",         "state",    "reason",
                                       "created_ms",    "started_ms", "ended_ms", "writable_layer",
                                       "backend",       "isolation",  "usage",    "egress",
                                       "egress_denied", "spec"};
    if (refresh(sandbox, err) < 0)
        return -(int)err->code;
    remote_autojson json_t *shown = json_object();
    for (size_t i = 0; i < HUTCH_COUNT(keys); i++) {
        json_t *value = json_object_get(sandbox->about, keys[i]);
        if (value && json_object_set(shown, keys[i], value) < 0)
            return hutch_fail_nomem(err);
    }
    *ret_json = json_dumps(shown, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(15));
    return *ret_json ? 0 : hutch_fail_nomem(err);
}

int hutch_sandbox_spec(const struct hutch_sandbox *sandbox, struct hutch_spec **ret_spec,
                       struct hutch_error *err)
{
    hutch_autofree char *text = json_dumps(spec_of(sandbox), JSON_COMPACT | JSON_ENCODE_ANY);
    struct hutch_spec *spec = NULL;
    if (!text)
        return remote_fail_strange(err, "a sandbox without a spec");
    if (hutch_spec_new(&spec, err) < 0)
        return -(int)err->code;
    if (hutch_spec_parse(spec, text, strlen(text), HUTCH_FORMAT_JSON, err) < 0) {
        hutch_spec_free(spec);
        return -(int)err->code;
    }
    *ret_spec = spec;
    return 0;
}
