/* SPDX-License-Identifier: Apache-2.0 */
/* The images that a Dockerfile asks for. The engine's own are taken as they are, as a run takes
 * them; what only hutch's store has is given to the engine, which cannot fetch it anywhere; and the
 * rest is for the engine to fetch. What is misread in the Dockerfile costs no more than that. */
#include <stdio.h>
#include <string.h>

#include "backend/docker/build.h"
#include "backend/docker/image.h"
#include "backend/docker/login.h"
#include "image/dockerfile.h"
#include "image/reference.h"
#include "util/own.h"

static void say(const struct build_request *request, const char *name,
                const struct hutch_error *cause)
{
    char line[600];
    (void)snprintf(line, sizeof(line), "'%.100s' is taken as it is here: %.400s", name, cause->msg);
    if (request->on_line)
        request->on_line(request->context, line);
}

/* In the engine, by its own doing or from the store; and whether it is of the platform that is
 * wanted. */
static int find(struct docker_engine *engine, const struct build_request *request, const char *name,
                bool *ret_fits, struct hutch_error *err)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    struct platform wanted, found;
    int status = docker_image_look(engine, name, &found, err);
    if (status == -HUTCH_E_NOT_FOUND) {
        if (docker_image_load(engine, name, err) < 0)
            return -(int)err->code;
        status = docker_image_look(engine, name, &found, err);
    }
    *ret_fits = !request->platform ||
                (status == 0 && platform_parse(request->platform, &wanted, &ignored) == 0 &&
                 platform_check(&found, &wanted, &ignored) == 0);
    return status;
}

static int give(struct docker_engine *engine, const struct build_request *request, const char *name,
                struct hutch_error *err)
{
    struct hutch_error cause = HUTCH_ERROR_INIT;
    bool fits = false;
    if (request->no_cache && docker_image_pull(engine, name, request->platform, &cause) == 0)
        return 0;
    int status = find(engine, request, name, &fits, err);
    if (status == -HUTCH_E_NOT_FOUND)
        return 0;             /* the engine tells, if it cannot fetch it either */
    if (status == 0 && !fits) /* Docker's builder would take it all the same */
        return docker_image_pull(engine, name, request->platform, err);
    if (status == 0 && cause.code)
        say(request, name, &cause);
    return status;
}

static int add_registry(struct hutch_strlist *registries, const char *registry,
                        struct hutch_error *err)
{
    return hutch_strlist_has(registries, registry) ? 0
                                                   : hutch_strlist_add(registries, registry, err);
}

int docker_build_bases(struct docker_engine *engine, const struct build_request *request,
                       char **ret_logins, struct hutch_error *err)
{
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist names = {0};
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist registries = {0};
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    int status = dockerfile_bases(request->text, request->build_args, &names, err);
    for (size_t i = 0; status == 0 && i < names.count; i++) {
        struct image_reference reference;
        if (image_reference_parse(names.items[i], &reference, &ignored) < 0)
            continue;
        status = add_registry(&registries, reference.registry, err);
        if (status == 0)
            status = give(engine, request, names.items[i], err);
    }
    return status < 0 ? status : docker_logins_of(&registries, ret_logins, err);
}
