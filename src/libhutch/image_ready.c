/* SPDX-License-Identifier: Apache-2.0 */
#include "libhutch/image_ready.h"

#include <string.h>

/* With what the store says: it may be there and damaged. */
static int fail_missing(const struct hutch_spec *spec, struct hutch_error *err)
{
    struct hutch_error cause = *err;
    if (image_digest_is_valid(spec->image))
        return hutch_fail(err, HUTCH_E_NOT_FOUND, 0,
                          "image '%.90s': %.180s, and a digest alone does not say where to fetch "
                          "it; 'hutch image ls' shows those that are here",
                          spec->image, cause.msg);
    return hutch_fail(err, HUTCH_E_NOT_FOUND, 0,
                      "image '%.100s': %.150s, and pull 'never' keeps it from being fetched; fetch "
                      "it with 'hutch image pull %.100s'",
                      spec->image, cause.msg, spec->image);
}

int image_ready(const struct hutch_spec *spec, int cancel_fd, struct image_use *ret_use,
                struct hutch_error *err)
{
    bool has_name = !image_digest_is_valid(spec->image);
    if (!strcmp(spec->pull, "always") && has_name && image_fetch(spec->image, cancel_fd, err) < 0)
        return -(int)err->code;
    int status = image_use_open(ret_use, spec, err);
    if (status != -HUTCH_E_NOT_FOUND)
        return status;
    if (!has_name || !strcmp(spec->pull, "never"))
        return fail_missing(spec, err);
    if (image_fetch(spec->image, cancel_fd, err) < 0)
        return -(int)err->code;
    return image_use_open(ret_use, spec, err);
}
