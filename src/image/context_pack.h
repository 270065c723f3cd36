/* SPDX-License-Identifier: Apache-2.0 */
/* The directory of a build as an archive for an engine, which gets what buildah would see: without
 * what the ignore file leaves out, with a Dockerfile that may lie elsewhere. */
#ifndef HUTCH_IMAGE_CONTEXT_PACK_H
#define HUTCH_IMAGE_CONTEXT_PACK_H

#include <limits.h>

#include "image/build.h"
#include "image/ignore.h"
#include "tar/tar.h"

struct context_pack {
    struct tar_pack_options options; /* for tar_pack(), as long as the struct stays where it is */
    int dir;
    struct ignore ignore;
    char dockerfile[PATH_MAX]; /* its path in the archive */
    /* Of members that the directory does not have so, NULL: it has. A Dockerfile from elsewhere is
     * put among the directory's files, and a line of .dockerignore lets the engine take it away
     * before the first step. */
    const char *dockerfile_text;
    char *ignore_text;
    bool keeps_dockerfile; /* though it is to be left out */
};

/* The request has its text and its Dockerfile's path. */
int context_pack_plan(const struct build_request *request, struct context_pack *ret_pack,
                      struct hutch_error *err) HUTCH_MUST_CHECK;
void context_pack_done(struct context_pack *pack);

#endif
