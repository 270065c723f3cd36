/* SPDX-License-Identifier: Apache-2.0 */
#include "image/push.h"

#include "libhutch/image_named.h"
#include "libhutch/image_options.h"
#include "libhutch/scratch.h"
#include "util/own.h"

int hutch_image_push(const char *reference, const char *to,
                     const struct hutch_image_options *options, struct hutch_error *err)
{
    hutch_cleanup(image_store_close) struct image_store store = {.dir = HUTCH_NO_FD};
    hutch_cleanup(image_done) struct image image = IMAGE_INIT;
    struct image_reference target;
    OR_SCRATCH(err);
    int r = image_options_check(options, IMAGE_PLATFORM_IS_SETTLED, err);
    if (r >= 0)
        r = image_reference_parse(to ? to : reference, &target, err);
    if (r >= 0)
        r = image_store_open(&store, false, err);
    if (r >= 0)
        r = image_named_find(&store, reference, &image, err);
    return r < 0 ? r : image_push(&store, &image, &target, options, err);
}
