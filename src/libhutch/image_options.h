/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_LIBHUTCH_IMAGE_OPTIONS_H
#define HUTCH_LIBHUTCH_IMAGE_OPTIONS_H

#include "hutch/image.h"

enum image_platform {
    IMAGE_PLATFORM_IS_ASKED,
    IMAGE_PLATFORM_IS_SETTLED, /* the image has one: asking for another would be ignored */
};

/* Is it of this library's header, and does it ask for nothing that would be ignored? May be NULL.
 */
int image_options_check(const struct hutch_image_options *options, enum image_platform platform,
                        struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
