/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/handles.h"
#include "cli/operands.h"
#include "cli/output.h"
#include "cli/pretty.h"

static int print_one(void *userdata, struct hutch_sandbox *sandbox, struct hutch_error *err)
{
    FILE *file = userdata;
    CLI_CLEANUP(cli_free) char *json = NULL;
    if (hutch_sandbox_to_json(sandbox, &json, err) < 0)
        return -(int)err->code;
    if (isatty(STDOUT_FILENO) == 1)
        cli_json_pretty(file, json);
    else
        (void)fprintf(file, "%s\n", json);
    return 0;
}

static int cmd_inspect(const struct cli_verb *verb, int argc, char **argv)
{
    CLI_CLEANUP(cli_text_done) struct cli_text text = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    int index = 0, status = 0;
    if (!cli_begin(verb, argc, argv, NULL, (struct cli_count){1, CLI_ANY}, &index, &status))
        return status;
    if (cli_text_open(&text, &err) < 0)
        return cli_report(&err);
    status = cli_each_sandbox(argc, argv, index, print_one, text.file);
    if (cli_text_send(&text, &err) < 0)
        return cli_report(&err);
    return status;
}

const struct cli_verb cli_verb_inspect = {
    .name = "inspect",
    .group = "Sandboxes",
    .summary = "Print everything about a sandbox as JSON",
    .usage = "NAME...",
    .details = "One JSON object for each, indented on a terminal and on one line elsewhere.\n",
    .run = cmd_inspect,
};
