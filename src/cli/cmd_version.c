/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/operands.h"
#include "cli/output.h"
#include "hutch/host.h"

static int cmd_version(const struct cli_verb *verb, int argc, char **argv)
{
    CLI_CLEANUP(cli_text_done) struct cli_text text = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    int status = 0;
    if (!cli_begin_alone(verb, argc, argv, NULL, &status))
        return status;
    if (cli_text_open(&text, &err) < 0)
        return cli_report(&err);
    (void)fprintf(text.file, "hutch %s\n", hutch_version());
    return cli_text_send(&text, &err) < 0 ? cli_report(&err) : 0;
}

const struct cli_verb cli_verb_version = {
    .name = "version",
    .group = "About",
    .summary = "Show the version",
    .usage = "",
    .run = cmd_version,
};
