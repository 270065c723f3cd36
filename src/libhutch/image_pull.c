/* SPDX-License-Identifier: Apache-2.0 */
#include "hutch/image.h"
#include "image/pull.h"
#include "libhutch/decision.h"
#include "libhutch/image_options.h"
#include "libhutch/scratch.h"

_Static_assert(HUTCH_IMAGE_DIGEST_BYTES == IMAGE_DIGEST_BYTES, "one digest, one size");

int hutch_image_pull(const char *reference, const struct hutch_image_options *options,
                     char ret_digest[HUTCH_IMAGE_DIGEST_BYTES], struct hutch_error *err)
{
    hutch_cleanup(decision_done) struct decision decision = DECISION_INIT;
    const struct hutch_asker caller = {NULL, NULL};
    OR_SCRATCH(err);
    if (image_options_check(options, IMAGE_PLATFORM_IS_ASKED, err) < 0 ||
        decision_begin(&decision, "pull", &caller, err) < 0 ||
        decision_pull(&decision, reference, err) < 0)
        return -(int)err->code;
    return image_pull(reference, options, ret_digest, err);
}
