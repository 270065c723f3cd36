/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of 'hutch image': rows of a table of their own, each a verb like any other whose
 * name has two words. Only the complete program has them. */
#ifndef HUTCH_CLI_IMAGE_H
#define HUTCH_CLI_IMAGE_H

#include "cli/cli.h"

extern const struct cli_verb cli_image_pull;
extern const struct cli_verb cli_image_push;
extern const struct cli_verb cli_image_ls;
extern const struct cli_verb cli_image_inspect;
extern const struct cli_verb cli_image_tag;
extern const struct cli_verb cli_image_rm;
extern const struct cli_verb cli_image_prune;
extern const struct cli_verb cli_image_build;
extern const struct cli_verb cli_image_import;
extern const struct cli_verb cli_image_export;
extern const struct cli_verb cli_image_save;
extern const struct cli_verb cli_image_load;
extern const struct cli_verb cli_image_login;
extern const struct cli_verb cli_image_logout;

/* All of them, in the order of the help; none in the small program. */
const struct cli_verb *const *cli_image_verbs(size_t *ret_count);

#endif
