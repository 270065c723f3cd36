/* SPDX-License-Identifier: Apache-2.0 */
/* The directory of a build that comes as an archive: a tar of any compression, which is believed
 * nothing. */
#ifndef HUTCH_IMAGE_BUILD_CONTEXT_H
#define HUTCH_IMAGE_BUILD_CONTEXT_H

#include "image/build_place.h"

struct build_context {
    char directory[600];   /* in the place of the build, and gone with it */
    char dockerfile[1700]; /* in that directory; nothing on the way to it is a symlink */
};

/* Unpacks what comes out of fd. dockerfile: its name in there; NULL: Dockerfile. */
int build_context_unpack(const struct build_place *place, int fd, const char *dockerfile,
                         struct build_context *ret_context,
                         struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
