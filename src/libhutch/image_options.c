/* SPDX-License-Identifier: Apache-2.0 */
#include "libhutch/image_options.h"

#include "util/error.h"

int image_options_check(const struct hutch_image_options *options, enum image_platform platform,
                        struct hutch_error *err)
{
    if (!options)
        return 0;
    if (options->size != sizeof(*options))
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "hutch_image_options has size %zu instead of %zu; start from "
                          "HUTCH_IMAGE_OPTIONS_INIT, with the header of this library",
                          options->size, sizeof(*options));
    if (platform == IMAGE_PLATFORM_IS_SETTLED && options->platform)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "an image that is here has its platform: none can be asked for");
    return 0;
}
