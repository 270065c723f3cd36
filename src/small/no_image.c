/* SPDX-License-Identifier: Apache-2.0 */
/* The small program hands every 'hutch image' over: it has none of its commands. */
#include <stdint.h>

#include "cli/handover.h"
#include "cli/image.h"
#include "cli/snapshot_image.h"

const struct cli_verb *const *cli_image_verbs(size_t *ret_count)
{
    *ret_count = 0;
    return NULL;
}

int cli_snapshot_image(const char *sandbox, const char *reference, struct hutch_error *err)
{
    char *const argv[] = {
        "hutch", "snapshot", "--", (char *)(uintptr_t)sandbox, (char *)(uintptr_t)reference, NULL};
    return cli_handover_now(argv, err);
}
