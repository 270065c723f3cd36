/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/handover.h"
#include "cli/output.h"

/* Where the daemon's program is, seen from this one: beside it in a build tree and in libexec, or
 * in libexec when this one is in bin. */
static const char *const places[] = {"hutch-serve", "../libexec/hutch/hutch-serve"};
static const char *const verbs[] = {"serve", "token"};

static bool is_verb_of_serve(const char *word)
{
    for (size_t i = 0; word && i < CLI_COUNT(verbs); i++)
        if (!strcmp(word, verbs[i]))
            return true;
    return false;
}

int cli_handover_serve(char *const *argv, struct hutch_error *err)
{
    char self[PATH_MAX];
    if (!is_verb_of_serve(argv[1]))
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
                    "'hutch %s' needs the program 'hutch-serve' beside 'hutch' or in "
                    "libexec/hutch, and it is not there; build or install hutch again",
                    argv[1]);
}
