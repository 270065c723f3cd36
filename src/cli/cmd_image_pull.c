/* SPDX-License-Identifier: Apache-2.0 */
/* hutch image pull and push. */
#include <stddef.h>
#include <string.h>

#include "cli/image.h"
#include "cli/operands.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "hutch/image.h"

struct transfer_request {
    bool quiet;
    const char *platform;
};

static int cmd_pull(const struct cli_verb *verb, int argc, char **argv)
{
    struct transfer_request request = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_image_options options = HUTCH_IMAGE_OPTIONS_INIT;
    char digest[HUTCH_IMAGE_DIGEST_BYTES];
    int index = 0, status = 0;
    if (!cli_begin(verb, argc, argv, &request, (struct cli_count){1, 1}, &index, &status))
        return status;
    CLI_CLEANUP(cli_progress_end) struct cli_progress progress = {.quiet = request.quiet};
    cli_progress_begin(&progress, &options);
    options.platform = request.platform;
    int failed = hutch_image_pull(argv[index], &options, digest, &err);
    cli_progress_end(&progress);
    if (failed || cli_line_send(digest, strlen(digest), &err) < 0)
        return cli_report(&err);
    return 0;
}

static int cmd_push(const struct cli_verb *verb, int argc, char **argv)
{
    struct transfer_request request = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_image_options options = HUTCH_IMAGE_OPTIONS_INIT;
    int index = 0, status = 0;
    if (!cli_begin(verb, argc, argv, &request, (struct cli_count){1, 2}, &index, &status))
        return status;
    CLI_CLEANUP(cli_progress_end) struct cli_progress progress = {.quiet = request.quiet};
    cli_progress_begin(&progress, &options);
    int failed = hutch_image_push(argv[index], argv[index + 1], &options, &err);
    cli_progress_end(&progress);
    return failed ? cli_report(&err) : 0;
}

static const struct cli_option pull_options[] = {
    {.name = "platform",
     .kind = CLI_OPTION_TEXT,
     .offset = offsetof(struct transfer_request, platform),
     .metavar = "OS/ARCH[/VARIANT]",
     .default_text = "this machine's",
     .help = "Which of an image's platforms."},
    {.name = "quiet",
     .short_name = 'q',
     .kind = CLI_OPTION_BOOL,
     .offset = offsetof(struct transfer_request, quiet),
     .help = "Show no progress, only the digest."},
};

const struct cli_verb cli_image_pull = {
    .name = "image pull",
    .summary = "Fetch an image from a registry, and print its digest",
    .usage = "[FLAG]... REFERENCE",
    .details = "What is there already is not fetched again, and a pull that was cut goes on where\n"
               "it ended. 'hutch run --image' does this by itself when an image is missing.\n",
    .options = pull_options,
    .option_count = CLI_COUNT(pull_options),
    .run = cmd_pull,
};

static const struct cli_option push_options[] = {
    {.name = "quiet",
     .short_name = 'q',
     .kind = CLI_OPTION_BOOL,
     .offset = offsetof(struct transfer_request, quiet),
     .help = "Show no progress."},
};

const struct cli_verb cli_image_push = {
    .name = "image push",
    .summary = "Send an image to a registry, under its own name or another",
    .usage = "[FLAG]... REFERENCE [NEW-REFERENCE]",
    .options = push_options,
    .option_count = CLI_COUNT(push_options),
    .run = cmd_push,
};
