/* SPDX-License-Identifier: Apache-2.0 */
#include "hutch/image.h"
#include "image/pull.h"
#include "libhutch/image_options.h"
#include "libhutch/scratch.h"

_Static_assert(HUTCH_IMAGE_DIGEST_BYTES == IMAGE_DIGEST_BYTES, "one digest, one size");

int hutch_image_pull(const char *reference, const struct hutch_image_options *options,
                     char ret_digest[HUTCH_IMAGE_DIGEST_BYTES], struct hutch_error *err)
{
    OR_SCRATCH(err);
    int r = image_options_check(options, IMAGE_PLATFORM_IS_ASKED, err);
    return r < 0 ? r : image_pull(reference, options, ret_digest, err);
}
