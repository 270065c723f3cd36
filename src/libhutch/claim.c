/* SPDX-License-Identifier: Apache-2.0 */
/* A sandbox that is ready becomes the one that a request would have made. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/native/keeper.h"
#include "backend/native/sandbox.h"
#include "core/field.h"
#include "core/isolation.h"
#include "hutch/sandbox.h"
#include "libhutch/decision.h"
#include "libhutch/image_ready.h"
#include "libhutch/scratch.h"
#include "util/own.h"

#define NAME_TRIES 8

/* Whose it is, and nothing of what it is: the rest has to be equal. */
static const char *const own_fields[] = {"name", "labels", "policy.tenant", "policy.hash",
                                         "policy.audit"};

static int describe(struct hutch_spec *spec, char **ret_json, struct hutch_error *err)
{
    uint64_t kept = spec->set_fields;
    for (size_t i = 0; i < HUTCH_COUNT(own_fields); i++)
        hutch_spec_mark(spec, own_fields[i], false);
    int status = hutch_spec_to_json_set(spec, ret_json, err);
    spec->set_fields = kept;
    return status;
}

static int check_equal(const struct hutch_sandbox *sandbox, struct hutch_spec *wanted,
                       struct hutch_error *err)
{
    hutch_autofree char *there = NULL;
    hutch_autofree char *asked = NULL;
    struct hutch_spec *spec = NULL;
    if (sandbox_spec(sandbox, &spec, err) < 0)
        return -(int)err->code;
    int status = describe(spec, &there, err);
    if (status == 0)
        status = describe(wanted, &asked, err);
    if (status == 0 && strcmp(there, asked) != 0)
        status = hutch_fail(err, HUTCH_E_CONFLICT, 0,
                            "sandbox '%s' is not what is asked for: a new one has to be made",
                            sandbox->home.name);
    hutch_spec_free(spec);
    return status;
}

/* The image is pinned to what it is now: that of the sandbox may have been another. */
static int settle_image(struct decision *decision, struct hutch_spec *spec, struct hutch_error *err)
{
    struct image_use image = IMAGE_USE_INIT;
    if (!spec->image || hutch_backend_has_own_images(spec))
        return 0;
    int status = image_ready(spec, HUTCH_NO_FD, &image, err);
    if (status == 0)
        status = decision_opened_image(decision, spec, &image, err);
    if (status == 0)
        status = image_use_pin(&image, spec, err);
    image_use_done(&image);
    return status;
}

/* As for one that is to be made; itself is not counted among the others. */
static int decide(struct decision *decision, const struct hutch_sandbox *sandbox,
                  struct hutch_spec *spec, struct hutch_error *err)
{
    if (decision_begin(decision, "create", &spec->asker, err) < 0)
        return -(int)err->code;
    int status = decision_of_new(decision, spec, err);
    if (status == 0)
        status = decision_signed(decision, spec, err);
    if (status == 0)
        status = settle_image(decision, spec, err);
    if (status == 0)
        status = check_equal(sandbox, spec, err);
    if (status == 0)
        status = decision_count(decision, spec, sandbox->id, err);
    return decision_note(decision, status, err);
}

static int ask(struct hutch_sandbox *sandbox, struct hutch_spec *spec, struct hutch_error *err)
{
    struct wire_message request = WIRE_MESSAGE_INIT, answer;
    hutch_autofree char *json = NULL;
    if (hutch_spec_to_json_set(spec, &json, err) < 0)
        return -(int)err->code;
    wire_begin(&request, "claim");
    wire_add(&request, "was", sandbox->home.name);
    wire_add(&request, "spec", json);
    int status = sandbox_ask(sandbox, &request, &answer, err);
    hutch_buf_done(&request.text);
    if (status < 0)
        return status;
    wire_done(&answer);
    (void)snprintf(sandbox->home.name, sizeof(sandbox->home.name), "%s", spec->name);
    return 0;
}

static int ask_with_new_name(struct hutch_sandbox *sandbox, struct hutch_spec *spec,
                             struct hutch_error *err)
{
    int status = 0;
    for (int i = 0; i < NAME_TRIES; i++) {
        char id[33], generated[24];
        if (keeper_make_id(id, err) < 0)
            return -(int)err->code;
        (void)snprintf(generated, sizeof(generated), "box-%.8s", id);
        if (hutch_spec_rename(spec, generated, err) < 0)
            return -(int)err->code;
        status = ask(sandbox, spec, err);
        if (status != -HUTCH_E_CONFLICT || err->os_errno != EEXIST)
            break;
    }
    return status;
}

int hutch_sandbox_claim(struct hutch_sandbox *sandbox, struct hutch_spec *spec,
                        struct hutch_error *err)
{
    hutch_cleanup(decision_done) struct decision decision = DECISION_INIT;
    OR_SCRATCH(err);
    if (decide(&decision, sandbox, spec, err) < 0)
        return -(int)err->code;
    if (!spec->name)
        return ask_with_new_name(sandbox, spec, err);
    return ask(sandbox, spec, err);
}
