/* SPDX-License-Identifier: Apache-2.0 */
/* The backends whose sandboxes are containers of an engine. Everything that touches an engine is
 * done by a porter: this is in the library and in the small program, which load no network library.
 */
#include "backend/container/container.h"

#include <stdio.h>
#include <string.h>

#include "backend/container/build.h"
#include "backend/container/owner.h"
#include "backend/container/porter.h"
#include "backend/native/keeper.h"
#include "core/isolation.h"
#include "porter/order.h"
#include "util/own.h"

#define LINES_MAX_BYTES (4u << 20)

/* What an engine enforces is found out by the porter that makes the container, before it does: one
 * process and one conversation with the engine instead of two. It refuses as
 * hutch_promises_settle() does, and what is missing comes back with the container. */
static int probe(const struct hutch_spec *spec, struct hutch_probe *ret_probe,
                 struct hutch_error *err)
{
    bool has_own_images = hutch_backend_has_own_images(spec);
    if (has_own_images && !spec->image)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "backend '%s' runs images: give one, such as '--image debian:12'%s",
                          hutch_spec_backend(spec), spec->rootfs ? ", instead of a rootfs" : "");
    ret_probe->enforces = ~(hutch_promise_set)0;
    ret_probe->why[0] = '\0';
    return 0;
}

static int run(const struct hutch_spec *spec, const struct image_use *image,
               const struct hutch_run_options *options, const struct hutch_probe *found,
               hutch_promise_set missing, struct hutch_result **ret_result, struct hutch_error *err)
{
    (void)found;
    struct keeper *keeper = keeper_new(spec, image, options);
    if (!keeper)
        return hutch_fail_nomem(err);
    keeper->missing = missing;
    return keeper_run(keeper, ret_result, err);
}

/* ---- doctor and gc --------------------------------------------------------------------------- */

/* The next field of a line; empty when there is none. */
static char *next_field(char **line)
{
    char *field = strsep(line, "\t");
    return field ? field : (char *)"";
}

static enum hutch_check_status status_named(const char *name)
{
    static const char *const names[] = {
        [HUTCH_CHECK_OK] = "ok", [HUTCH_CHECK_WARN] = "warn", [HUTCH_CHECK_FAIL] = "fail"};
    for (size_t i = 0; i < HUTCH_COUNT(names); i++)
        if (!strcmp(name, names[i]))
            return (enum hutch_check_status)i;
    return HUTCH_CHECK_FAIL;
}

static void tell_check(char *line, hutch_check_fn on_check, void *userdata)
{
    struct hutch_check check = {.name = next_field(&line)};
    check.status = status_named(next_field(&line));
    (void)snprintf(check.detail, sizeof(check.detail), "%.199s", next_field(&line));
    (void)snprintf(check.remedy, sizeof(check.remedy), "%.299s", next_field(&line));
    on_check(userdata, &check);
}

/* An engine that cannot even be asked about is a finding, not the end of the examination. */
static int doctor(const char *backend, hutch_check_fn on_check, void *userdata)
{
    hutch_cleanup(hutch_buf_done) struct hutch_buf lines = HUTCH_BUF(LINES_MAX_BYTES);
    struct hutch_error cause = HUTCH_ERROR_INIT;
    int status = porter_do(PORTER_VERB_DOCTOR, backend, NULL, &lines, &cause);
    hutch_buf_append(&lines, "", 1);
    char *rest = lines.failed ? NULL : lines.data;
    for (char *line = NULL; status == 0 && (line = strsep(&rest, "\n"));)
        if (*line)
            tell_check(line, on_check, userdata);
    if (status == 0)
        return 0;
    struct hutch_check check = {.name = backend, .status = HUTCH_CHECK_WARN};
    (void)snprintf(check.detail, sizeof(check.detail), "%.199s", cause.msg);
    on_check(userdata, &check);
    return 0;
}

static int docker_doctor(hutch_check_fn on_check, void *userdata, struct hutch_error *err)
{
    (void)err;
    return doctor("docker", on_check, userdata);
}

static int oci_doctor(hutch_check_fn on_check, void *userdata, struct hutch_error *err)
{
    (void)err;
    return doctor("oci", on_check, userdata);
}

static int gc(const char *backend, bool dry_run, hutch_gc_fn on_item, void *userdata,
              struct hutch_error *err)
{
    hutch_cleanup(hutch_buf_done) struct hutch_buf lines = HUTCH_BUF(LINES_MAX_BYTES);
    if (!owner_has_noted(backend))
        return 0;
    if (porter_do(PORTER_VERB_SWEEP, backend, dry_run ? "dry" : NULL, &lines, err) < 0)
        return -(int)err->code;
    hutch_buf_append(&lines, "", 1);
    char *rest = lines.failed ? NULL : lines.data;
    for (char *line = NULL; (line = strsep(&rest, "\n"));) {
        const char *kind = next_field(&line);
        if (*kind && on_item)
            on_item(userdata, kind, next_field(&line));
    }
    return 0;
}

static int docker_gc(bool dry_run, hutch_gc_fn on_item, void *userdata, struct hutch_error *err)
{
    return gc("docker", dry_run, on_item, userdata, err);
}

static int oci_gc(bool dry_run, hutch_gc_fn on_item, void *userdata, struct hutch_error *err)
{
    return gc("oci", dry_run, on_item, userdata, err);
}

static int docker_build(const struct build_request *request, struct hutch_error *err)
{
    return container_build("docker", request, err);
}

const struct hutch_backend_ops hutch_docker_backend = {
    .name = "docker",
    .doc = "containers of a Docker engine, or of another that speaks its API",
    .has_own_images = true,
    .probe = probe,
    .run = run,
    .doctor = docker_doctor,
    .gc = docker_gc,
    .build = docker_build,
};

const struct hutch_backend_ops hutch_oci_backend = {
    .name = "oci",
    .doc = "containers of an OCI runtime: runc, crun, or gVisor's runsc",
    .has_own_images = false,
    .probe = probe,
    .run = run,
    .doctor = oci_doctor,
    .gc = oci_gc,
};
