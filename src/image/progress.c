/* SPDX-License-Identifier: Apache-2.0 */
#include "image/progress.h"

#include <string.h>

#define SHORT_DIGITS 12

void progress_tell(struct progress *progress, const char *action, const char *digest, uint64_t done,
                   uint64_t total)
{
    char item[SHORT_DIGITS + 1] = "";
    const struct hutch_image_options *options = progress->options;
    if (!options || !options->on_progress)
        return;
    memcpy(item, IMAGE_DIGEST_HEX(digest), SHORT_DIGITS);
    const struct hutch_image_progress step = {
        .action = action, .item = item, .done = done, .total = total};
    (void)pthread_mutex_lock(&progress->mutex);
    options->on_progress(options->userdata, &step);
    (void)pthread_mutex_unlock(&progress->mutex);
}
