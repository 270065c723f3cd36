/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/handles.h"
#include "cli/operands.h"
#include "cli/output.h"

static int print(const struct hutch_sandbox *sandbox, struct hutch_error *err)
{
    CLI_CLEANUP(cli_text_done) struct cli_text text = {0};
    char **words = NULL;
    if (hutch_sandbox_command_prefix(sandbox, &words, err) < 0)
        return -(int)err->code;
    int failed = cli_text_open(&text, err);
    for (size_t i = 0; !failed && words[i]; i++) {
        (void)fputs(i ? "," : "[", text.file);
        cli_json_string(text.file, words[i]);
    }
    hutch_words_free(words);
    if (failed)
        return failed;
    (void)fputs("]\n", text.file);
    return cli_text_send(&text, err);
}

static int cmd_prefix(const struct cli_verb *verb, int argc, char **argv)
{
    CLI_CLEANUP(cli_sandbox_free) struct hutch_sandbox *sandbox = NULL;
    struct hutch_error err = HUTCH_ERROR_INIT;
    int index = 0, status = 0;
    if (!cli_begin(verb, argc, argv, NULL, (struct cli_count){1, 1}, &index, &status))
        return status;
    if (hutch_sandbox_open(argv[index], &sandbox, &err) < 0 || print(sandbox, &err) < 0)
        return cli_report(&err);
    return 0;
}

const struct cli_verb cli_verb_prefix = {
    .name = "prefix",
    .group = "Sandboxes",
    .summary = "Print the words to put before a command to run it in a sandbox",
    .usage = "NAME",
    .details = "A JSON list, for any subprocess call: standard input, signals and the exit\n"
               "status pass through.\n",
    .run = cmd_prefix,
};
