/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/handover.h"
#include "cli/host_flags.h"
#include "cli/output.h"

/* Where the program is that talks to a daemon, seen from this one: beside it in a build tree and in
 * libexec, or in libexec when this one is in bin. */
static const char *const places[] = {"hutch-remote", "../libexec/hutch/hutch-remote"};

int cli_handover_host(char *const *argv, struct hutch_error *err)
{
    char self[PATH_MAX];
    if (!cli_host_is_remote(argv))
        return 0;
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length < 0)
        return cli_fail_errno(err, errno, "find hutch's own directory");
    self[length] = '\0';
    *strrchr(self, '/') = '\0';
    for (size_t i = 0; i < CLI_COUNT(places); i++) {
        char path[PATH_MAX + 64];
        (void)snprintf(path, sizeof(path), "%s/%s", self, places[i]);
        (void)execv(path, argv);
    }
    return cli_fail(err, HUTCH_E_NOT_FOUND,
                    "'--host' and HUTCH_HOST need the program 'hutch-remote' beside 'hutch' or in "
                    "libexec/hutch, and it is not there; build or install hutch again");
}
