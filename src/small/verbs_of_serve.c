/* SPDX-License-Identifier: Apache-2.0 */
/* What the daemon's program is called for; every other verb is one of the other programs'. */
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/handover.h"

static const struct cli_verb *const verbs[] = {
    &cli_verb_serve,
    &cli_verb_token,
    &cli_verb_help,
    &cli_verb_version,
};

const struct cli_verb *const *cli_verbs(size_t *ret_count)
{
    *ret_count = CLI_COUNT(verbs);
    return verbs;
}

bool cli_is_porter(int argc, char *const *argv, int *ret_status)
{
    (void)argc, (void)argv, (void)ret_status;
    return false;
}

bool cli_is_gateway(int argc, char *const *argv, int *ret_status)
{
    (void)argc, (void)argv, (void)ret_status;
    return false;
}

int cli_handover(char **argv, struct hutch_error *err)
{
    (void)argv, (void)err;
    (void)unsetenv("HUTCH_HOST"); /* programs that it starts work here, not for it */
    return 0;
}
