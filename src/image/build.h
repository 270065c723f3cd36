/* SPDX-License-Identifier: Apache-2.0 */
/* A Dockerfile becomes an image that can be loaded, through buildah. */
#ifndef HUTCH_IMAGE_BUILD_H
#define HUTCH_IMAGE_BUILD_H

#include "image/build_place.h"
#include "image/build_process.h"

struct build_request {
    const char *directory;
    const char *dockerfile;        /* its path; NULL: Dockerfile in the directory */
    const char *const *build_args; /* NULL-terminated; may be NULL */
    const char *platform;          /* NULL: this machine's */
    bool no_cache;
    bool for_registry;      /* layers are compressed, which takes longer than many a build */
    build_line_fn *on_line; /* the build's log; NULL: nobody listens */
    void *context;
};

/* What can be told before anything is made: are the directory and the Dockerfile there, and
 * buildah? */
int build_check(const struct build_request *request, char **ret_buildah,
                struct hutch_error *err) HUTCH_MUST_CHECK;
/* Builds it into PLACE/out/image, an OCI layout or a docker archive. A step that fails is named,
 * with its line. */
int build_image(const struct build_request *request, const char *buildah, struct build_place *place,
                struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
