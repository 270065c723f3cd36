/* SPDX-License-Identifier: Apache-2.0 */
/* A Dockerfile becomes an image: what is asked for, and how buildah makes one that can be loaded. A
 * backend whose engine has images of its own does it otherwise (backend/backend.h). */
#ifndef HUTCH_IMAGE_BUILD_H
#define HUTCH_IMAGE_BUILD_H

#include "image/build_place.h"
#include "image/build_process.h"

struct build_request {
    const char *directory;
    const char *dockerfile;        /* its path; NULL: Dockerfile in the directory */
    const char *text;              /* what it says, for an engine; buildah reads it itself */
    const char *reference;         /* the whole name that it gets there */
    const char *const *build_args; /* NULL-terminated; may be NULL */
    const char *platform;          /* NULL: this machine's */
    bool no_cache;
    bool is_named; /* of a named sandbox: it stays here, so that layers need not be compressed,
                      which takes longer than many a build; and it takes the place of what its
                      directory held before */
    build_line_fn *on_line; /* the build's log; NULL: nobody listens */
    void *context;
};

#define BUILD_DOCKERFILE_MAX_BYTES (1u << 20)

/* What can be told before anything is made: are the directory and the Dockerfile there? */
int build_check(const struct build_request *request, struct hutch_error *err) HUTCH_MUST_CHECK;
int build_dockerfile_path(const struct build_request *request, char **ret_path,
                          struct hutch_error *err) HUTCH_MUST_CHECK;
/* Builds it into PLACE/out/image, an OCI layout or a docker archive. A step that fails is named,
 * with its line. */
int build_image(const struct build_request *request, const char *buildah, struct build_place *place,
                struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
