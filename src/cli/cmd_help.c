/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

#include "cli/cli.h"
#include "cli/help.h"
#include "cli/output.h"

struct help_request {
    bool scdoc;
};

static const struct cli_option help_options[] = {
    /* Not shown: the man pages are made with it. */
    {.name = "scdoc", .kind = CLI_OPTION_BOOL, .offset = offsetof(struct help_request, scdoc)},
};

/* Flags may stand on both sides of the topic. */
static int parse(const struct cli_verb *verb, int argc, char **argv, struct help_request *request,
                 const char **ret_topic, struct hutch_error *err)
{
    CLI_CLEANUP(cli_options_done) struct cli_options options = {0};
    bool help = false;
    int index = 1;
    int failed = cli_options_init(&options, verb, err);
    if (!failed)
        failed = cli_options_parse(&options, argc, argv, &index, request, &help, err);
    if (failed || index == argc)
        return failed;
    *ret_topic = argv[index++];
    failed = cli_options_parse(&options, argc, argv, &index, request, &help, err);
    if (!failed && index < argc)
        failed = cli_fail(err, HUTCH_E_INVALID, "'hutch help' takes one command, not '%.64s' too",
                          argv[index]);
    return failed;
}

static int cmd_help(const struct cli_verb *verb, int argc, char **argv)
{
    struct help_request request = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    const struct cli_verb *topic = NULL;
    const char *name = NULL;
    if (parse(verb, argc, argv, &request, &name, &err) < 0)
        return cli_report(&err);
    if (!name)
        return request.scdoc ? cli_help_overview_scdoc() : cli_help_overview();
    if (cli_verb_find(name, &topic, &err) < 0)
        return cli_report(&err);
    return request.scdoc ? cli_help_scdoc(topic) : cli_help_verb(topic);
}

const struct cli_verb cli_verb_help = {
    .name = "help",
    .group = "About",
    .summary = "Show an overview, or the help of one command",
    .usage = "[COMMAND]",
    .options = help_options,
    .option_count = CLI_COUNT(help_options),
    .run = cmd_help,
};
