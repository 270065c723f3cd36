/* SPDX-License-Identifier: Apache-2.0 */
/* A Dockerfile as far as hutch reads one itself; to build it is buildah's business. */
#ifndef HUTCH_IMAGE_DOCKERFILE_H
#define HUTCH_IMAGE_DOCKERFILE_H

#include <stdbool.h>

#include "util/strlist.h"

/* A walk over its instructions: begins with .next at its text. */
struct dockerfile_walk {
    const char *next;
    unsigned next_line;
    const char *instruction; /* its first word */
    unsigned line;
    char text[2048]; /* its lines as one, without comments; cut off where it is longer */
};

bool dockerfile_next(struct dockerfile_walk *walk);
/* Whether it begins with the first word of a text. */
bool dockerfile_is(const char *instruction, const char *text);

/* dockerfile_bases.c: adds the names of images that it builds on or takes files from, with the
 * values of its ARGs, as far as they can be told before it is built. The arguments ("KEY=VALUE",
 * NULL-terminated, may be NULL) are those of the build. */
int dockerfile_bases(const char *dockerfile, const char *const *build_args,
                     struct hutch_strlist *ret_names, struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
