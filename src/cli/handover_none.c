/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/handover.h"

#include <string.h>

#include "egress/program.h"
#include "porter/porter.h"

bool cli_is_porter(int argc, char *const *argv, int *ret_status)
{
    if (!porter_is_called(argc, argv))
        return false;
    *ret_status = porter_main(argc, argv);
    return true;
}

bool cli_is_gateway(int argc, char *const *argv, int *ret_status)
{
    if (argc != 1 || strcmp(argv[0], EGRESS_PROGRAM_NAME) != 0)
        return false;
    *ret_status = egress_program_main();
    return true;
}

/* The complete program does everything else itself. */
int cli_handover(char **argv, struct hutch_error *err)
{
    int failed = cli_handover_host(argv, err);
    return failed ? failed : cli_handover_serve(argv, err);
}
