/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

#include "cli/cli.h"
#include "cli/help.h"
#include "cli/output.h"

struct help_request {
    bool scdoc;
    const char *inner; /* a command of the topic's own */
};

static const struct cli_option help_options[] = {
    /* Not shown: the man pages are made with it. */
    {.name = "scdoc", .kind = CLI_OPTION_BOOL, .offset = offsetof(struct help_request, scdoc)},
};

static int fail_too_many(const char *word, struct hutch_error *err)
{
    return cli_fail(err, HUTCH_E_INVALID, "'hutch help' takes one command, not '%.64s' too", word);
}

/* Flags may stand on both sides of the topic. */
static int parse(const struct cli_verb *verb, int argc, char **argv, struct help_request *request,
                 const char **ret_topic, struct hutch_error *err)
{
    struct cli_options options;
    bool help = false;
    int index = 1;
    cli_options_init(&options, verb);
    int failed = cli_options_parse(&options, argc, argv, &index, request, &help, err);
    if (failed || index == argc)
        return failed;
    *ret_topic = argv[index++];
    failed = cli_options_parse(&options, argc, argv, &index, request, &help, err);
    if (!failed && index < argc)
        request->inner = argv[index++];
    return !failed && index < argc ? fail_too_many(argv[index], err) : failed;
}

/* The verb that is meant, or one of its own commands. */
static int find_topic(const char *name, const char *inner, const struct cli_verb **ret_topic,
                      struct hutch_error *err)
{
    const struct cli_verb *topic = NULL;
    int failed = cli_verb_find(name, &topic, err);
    if (!failed && inner)
        failed = topic->inner ? cli_verb_find_inner(topic, inner, &topic, err)
                              : fail_too_many(inner, err);
    if (!failed)
        *ret_topic = topic;
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
    if (find_topic(name, request.inner, &topic, &err) < 0)
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
