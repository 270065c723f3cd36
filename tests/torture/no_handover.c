/* SPDX-License-Identifier: Apache-2.0 */
/* The program whose allocations fail reads YAML itself, and has no images: there is nobody beside
 * it to hand them over to. */
#include "cli/handover.h"
#include "cli/output.h"

bool cli_is_porter(int argc, char *const *argv, int *ret_status)
{
    (void)argc;
    (void)argv;
    (void)ret_status;
    return false;
}

bool cli_is_gateway(int argc, char *const *argv, int *ret_status)
{
    return cli_is_porter(argc, argv, ret_status);
}

int cli_handover(char **argv, struct hutch_error *err)
{
    (void)argv;
    (void)err;
    return 0;
}

int cli_handover_now(char *const *argv, struct hutch_error *err)
{
    return cli_fail(err, HUTCH_E_UNSUPPORTED, "this program cannot do '%s %s'", argv[0], argv[1]);
}
