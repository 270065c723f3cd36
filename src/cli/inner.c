/* SPDX-License-Identifier: Apache-2.0 */
/* A verb that has commands of its own. */
#include <string.h>

#include "cli/cli.h"
#include "cli/help.h"
#include "cli/output.h"

/* The words before the command can only be a call for help. */
static bool is_help(const char *word)
{
    return !strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help");
}

int cli_run_inner(const struct cli_verb *verb, int argc, char **argv)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    const struct cli_verb *found = NULL;
    if (argc < 2 || is_help(argv[1]))
        return cli_help_verb(verb);
    if (cli_verb_find_inner(verb, argv[1], &found, &err) < 0)
        return cli_report(&err);
    return found->run(found, argc - 1, argv + 1);
}
