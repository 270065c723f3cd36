/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/snapshot_image.h"

#include "hutch/image.h"

int cli_snapshot_image(const char *sandbox, const char *reference, struct hutch_error *err)
{
    const struct hutch_image_options options = HUTCH_IMAGE_OPTIONS_INIT;
    char digest[HUTCH_IMAGE_DIGEST_BYTES];
    return hutch_image_snapshot(sandbox, reference, &options, digest, err);
}
