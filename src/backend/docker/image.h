/* SPDX-License-Identifier: Apache-2.0 */
/* The image of a container, as the engine has it. */
#ifndef HUTCH_DOCKER_IMAGE_H
#define HUTCH_DOCKER_IMAGE_H

#include "backend/docker/engine.h"
#include "core/spec.h"
#include "image/manifest.h"

struct docker_image {
    char *user;                   /* "", "name", "1000:1000" */
    char *config;                 /* its configuration, an OCI document */
    struct hutch_strlist volumes; /* directories that every container of it has as volumes */
    struct platform platform;
};

/* Found in the engine; or brought there, from hutch's own store or by the engine itself, as the
 * spec's 'pull' has it. */
int docker_image_ready(struct docker_engine *engine, const struct hutch_spec *spec,
                       struct docker_image *ret_image, struct hutch_error *err) HUTCH_MUST_CHECK;
void docker_image_done(struct docker_image *image);

/* ---- between the files of this part ---- */

/* Does the engine have it? HUTCH_E_NOT_FOUND: it does not. ret_platform may be NULL. */
int docker_image_look(struct docker_engine *engine, const char *name, struct platform *ret_platform,
                      struct hutch_error *err) HUTCH_MUST_CHECK;
/* image_pull.c: the engine fetches it, with the login that docker keeps for its registry. platform:
 * NULL: the engine's own. */
int docker_image_pull(struct docker_engine *engine, const char *name, const char *platform,
                      struct hutch_error *err) HUTCH_MUST_CHECK;
/* image_load.c: from hutch's own store. HUTCH_E_NOT_FOUND when that does not have it. */
int docker_image_load(struct docker_engine *engine, const char *name,
                      struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
