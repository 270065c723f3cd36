/* SPDX-License-Identifier: Apache-2.0 */
/* What a .dockerignore leaves out of a build's directory, by the rules of docker and buildah: the
 * last line that matches a path, or a directory above it, decides. */
#ifndef HUTCH_IMAGE_IGNORE_H
#define HUTCH_IMAGE_IGNORE_H

#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

struct ignore_pattern;

/* All zero: nothing is left out. */
struct ignore {
    struct ignore_pattern *patterns;
    size_t count;
    unsigned char *scratch; /* for one comparison at a time */
};

/* A line that makes no sense is told by its number and without its words: where the file leads is
 * not always the caller's to know. */
int ignore_parse(const char *text, struct ignore *ret_ignore,
                 struct hutch_error *err) HUTCH_MUST_CHECK;
void ignore_done(struct ignore *ignore);

/* path: relative to the directory, without "./" before it. */
bool ignore_excludes(const struct ignore *ignore, const char *path);
/* May something below a directory that is left out be taken in again? */
bool ignore_may_hold(const struct ignore *ignore, const char *path);

#endif
