/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/image.h"

const struct cli_verb *const *cli_image_verbs(size_t *ret_count)
{
    static const struct cli_verb *const verbs[] = {
        &cli_image_pull, &cli_image_push,  &cli_image_ls,    &cli_image_inspect, &cli_image_tag,
        &cli_image_rm,   &cli_image_prune, &cli_image_build, &cli_image_import,  &cli_image_export,
        &cli_image_save, &cli_image_load,  &cli_image_login, &cli_image_logout,
    };
    *ret_count = CLI_COUNT(verbs);
    return verbs;
}
