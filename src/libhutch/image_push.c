/* SPDX-License-Identifier: Apache-2.0 */
#include "hutch/image.h"

#include "image/push.h"

static void forward(void *context, const char *action, const char *item, uint64_t done,
                    uint64_t total)
{
    const struct hutch_image_options *options = context;
    struct hutch_image_progress progress = {action, item, done, total};
    options->on_progress(options->userdata, &progress);
}

int hutch_image_push(const char *reference, const char *to,
                     const struct hutch_image_options *options, struct hutch_error *err)
{
    struct hutch_image_options asked = HUTCH_IMAGE_OPTIONS_INIT;
    struct image_reference from;
    struct image_reference target;
    if (options)
        asked = *options;
    int r = image_reference_parse(reference, &from, err);
    if (r == 0)
        r = image_reference_parse(to ? to : reference, &target, err);
    if (r == 0)
        r = image_push(&from, &target, asked.on_progress ? forward : NULL, &asked, err);
    return r;
}
