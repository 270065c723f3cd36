/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/cli.h"
#include "cli/help.h"
#include "cli/image.h"
#include "cli/output.h"

/* The words before the command can only be a call for help. */
static bool is_help(const char *word)
{
    return !strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help");
}

static int cmd_image(const struct cli_verb *verb, int argc, char **argv)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    const struct cli_verb *found = NULL;
    if (argc < 2 || is_help(argv[1]))
        return cli_help_verb(verb);
    if (cli_verb_find_inner(verb, argv[1], &found, &err) < 0)
        return cli_report(&err);
    return found->run(found, argc - 1, argv + 1);
}

const struct cli_verb cli_verb_image = {
    .name = "image",
    .group = "Images",
    .summary = "Fetch, keep, build and send images",
    .usage = "COMMAND [FLAG]... [ARGUMENT]...",
    .details = "A REFERENCE is the name of an image as everybody writes it: python:3.11-slim,\n"
               "ghcr.io/user/tool, localhost:5000/x@sha256:...\n",
    .inner = cli_image_verbs,
    .run = cmd_image,
};
