/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_LIBHUTCH_IMAGE_BUILD_H
#define HUTCH_LIBHUTCH_IMAGE_BUILD_H

#include "hutch/image.h"

/* hutch_image_build(), but nothing is built when the store has the name by the time it is this
 * build's turn: of two who want the same, one builds. */
int image_build_missing(const struct hutch_image_build *build,
                        const struct hutch_image_options *options,
                        struct hutch_error *err) HUTCH_MUST_CHECK;
bool image_is_there(const char *reference);

#endif
