/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/handover.h"
#include "cli/output.h"

/* Seen from this program's directory: a build tree and libexec have all of them beside each other,
 * bin has the small one alone. */
static const char *const places[] = {"", "../libexec/hutch/"};

int cli_exec_beside(const char *program, char *const *argv, struct hutch_error *err)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length < 0)
        return cli_fail_errno(err, errno, "find hutch's own directory");
    self[length] = '\0';
    *strrchr(self, '/') = '\0';
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        char path[PATH_MAX + 64];
        (void)snprintf(path, sizeof(path), "%s/%s%s", self, places[i], program);
        (void)execv(path, argv);
    }
    return 0;
}
