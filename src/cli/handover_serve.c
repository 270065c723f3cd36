/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/cli.h"
#include "cli/handover.h"
#include "cli/output.h"

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
    if (!is_verb_of_serve(argv[1]))
        return 0;
    int status = cli_exec_beside("hutch-serve", argv, err);
    return status < 0 ? status
                      : cli_fail(err, HUTCH_E_NOT_FOUND,
                                 "'hutch %s' needs the program 'hutch-serve' beside 'hutch' or in "
                                 "libexec/hutch, and it is not there; build or install hutch again",
                                 argv[1]);
}
