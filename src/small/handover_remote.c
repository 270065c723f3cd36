/* SPDX-License-Identifier: Apache-2.0 */
/* The program that talks to a daemon does every verb itself, or says that it has no remote form. */
#include <string.h>

#include "cli/cli.h"
#include "cli/handover.h"
#include "cli/output.h"

/* About this machine, whatever a daemon does on another. */
static const char *const verbs_of_here[] = {"doctor", "gc", "policy", "secret", "serve", "token"};

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
    for (size_t i = 0; argv[1] && i < CLI_COUNT(verbs_of_here); i++)
        if (!strcmp(argv[1], verbs_of_here[i]))
            return cli_fail(err, HUTCH_E_UNSUPPORTED,
                            "'hutch %s' has no remote form; call it on the daemon's machine, or "
                            "here without '--host' and HUTCH_HOST",
                            argv[1]);
    return 0;
}
