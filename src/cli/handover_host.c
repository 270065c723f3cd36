/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/handover.h"
#include "cli/host_flags.h"
#include "cli/output.h"

int cli_handover_host(char *const *argv, struct hutch_error *err)
{
    if (!cli_host_is_remote(argv))
        return 0;
    int status = cli_exec_beside("hutch-remote", argv, err);
    return status < 0
               ? status
               : cli_fail(err, HUTCH_E_NOT_FOUND,
                          "'--host' and HUTCH_HOST need the program 'hutch-remote' beside 'hutch' "
                          "or in libexec/hutch, and it is not there; build or install hutch again");
}
