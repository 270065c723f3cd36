/* SPDX-License-Identifier: Apache-2.0 */
/* The public entry points: check the spec, choose the backend, refuse what would be ignored, and
 * pass it on. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "backend/backend.h"
#include "core/isolation.h"
#include "hutch/hutch.h"
#include "libhutch/decision.h"
#include "libhutch/image_ready.h"
#include "libhutch/promises.h"
#include "util/error.h"
#include "util/state_dir.h"

const char *hutch_version(void)
{
    return HUTCH_VERSION;
}

int hutch_state_directory(const char *kind, char *ret_path, size_t size, struct hutch_error *err)
{
    return state_directory(kind, ret_path, size, err);
}

int hutch_promises_check(const struct hutch_spec *spec, const struct hutch_probe *probe,
                         hutch_promise_set *ret_missing, struct hutch_error *err)
{
    return hutch_promises_settle(spec, probe->enforces, probe->why, ret_missing, err);
}

/* A caller built with an older header has fewer fields: the others have their defaults. One built
 * with a newer header may ask for something we do not know, which must not be ignored. */
static const struct hutch_run_options *known_options(const struct hutch_run_options *given,
                                                     struct hutch_run_options *defaults,
                                                     struct hutch_error *err)
{
    const size_t first_version = offsetof(struct hutch_run_options, userdata) + sizeof(void *);
    if (given->size < first_version || given->size > sizeof(*given)) {
        hutch_fail(err, HUTCH_E_INVALID, 0,
                   "hutch_run_options has size %zu instead of %zu to %zu; start from "
                   "HUTCH_RUN_OPTIONS_INIT, with the header of this library",
                   given->size, first_version, sizeof(*given));
        return NULL;
    }
    memcpy(defaults, given, given->size);
    return defaults;
}

/* The image is open, and so locked, as long as the sandbox lives. */
static int run_image(struct decision *decision, const struct hutch_spec *spec,
                     const struct hutch_backend_ops *backend,
                     const struct hutch_run_options *options, const struct hutch_probe *probe,
                     hutch_promise_set missing, struct hutch_result **ret_result,
                     struct hutch_error *err)
{
    struct image_use image = IMAGE_USE_INIT;
    int status = image_ready(spec, options->cancel_fd, &image, err);
    if (status == 0 && !image.command.count)
        status =
            hutch_fail(err, HUTCH_E_INVALID, 0,
                       "image '%.150s' names no command to run, give one such as 'sh -c \"echo "
                       "hello\"'",
                       spec->image);
    if (status == 0)
        status = decision_note(decision, decision_opened_image(decision, spec, &image, err), err);
    if (status == 0)
        status = backend->run(spec, &image, options, probe, missing, ret_result, err);
    image_use_done(&image);
    return status;
}

/* The spec becomes what was decided. */
static int decide(struct decision *decision, const struct hutch_spec **spec,
                  struct hutch_error *err)
{
    if (decision_begin(decision, "run", &(*spec)->asker, err) < 0)
        return -(int)err->code;
    int status = decision_image(decision, *spec, false, err);
    if (status == 0)
        status = decision_make(decision, *spec, (*spec)->set_fields, HUTCH_USE_RUN, spec, err);
    if (status == 0)
        status = decision_sign(decision, err);
    if (status == 0)
        status = decision_claim(decision, *spec, err);
    return decision_note(decision, status, err);
}

/* What was decided is all that counts from here on. */
static int run_decided(struct decision *decision, const struct hutch_spec *spec,
                       const struct hutch_run_options *options, struct hutch_result **ret_result,
                       struct hutch_error *err)
{
    struct hutch_probe probe;
    hutch_promise_set missing = 0;
    const struct hutch_backend_ops *backend = hutch_backend_find(hutch_spec_backend(spec), err);
    if (!backend || backend->probe(spec, &probe, err) < 0 ||
        hutch_promises_check(spec, &probe, &missing, err) < 0)
        return -(int)err->code;
    if (!spec->image || backend->has_own_images)
        return backend->run(spec, NULL, options, &probe, missing, ret_result, err);
    return run_image(decision, spec, backend, options, &probe, missing, ret_result, err);
}

int hutch_run(const struct hutch_spec *spec, const struct hutch_run_options *options,
              struct hutch_result **ret_result, struct hutch_error *err)
{
    struct hutch_error scratch = HUTCH_ERROR_INIT;
    struct hutch_run_options defaults = HUTCH_RUN_OPTIONS_INIT;
    hutch_cleanup(decision_done) struct decision decision = DECISION_INIT;
    if (!err)
        err = &scratch;
    options = options ? known_options(options, &defaults, err) : &defaults;
    if (!options)
        return -(int)err->code;
    if (hutch_spec_validate(spec, err) < 0 || decide(&decision, &spec, err) < 0)
        return -(int)err->code;
    return run_decided(&decision, spec, options, ret_result, err);
}

int hutch_doctor(hutch_check_fn on_check, void *userdata, struct hutch_error *err)
{
    struct hutch_error scratch = HUTCH_ERROR_INIT;
    if (!err)
        err = &scratch;
    for (size_t i = 0; hutch_backends[i]; i++)
        if (hutch_backends[i]->doctor(on_check, userdata, err) < 0)
            return -(int)err->code;
    return 0;
}

int hutch_gc(bool dry_run, hutch_gc_fn on_item, void *userdata, struct hutch_error *err)
{
    struct hutch_error first = HUTCH_ERROR_INIT; /* one engine's absence is not another's */
    for (size_t i = 0; hutch_backends[i]; i++) {
        struct hutch_error failure = HUTCH_ERROR_INIT;
        if (hutch_backends[i]->gc(dry_run, on_item, userdata, &failure) < 0 && !first.code)
            first = failure;
    }
    if (first.code && err)
        *err = first;
    return -(int)first.code;
}
