/* SPDX-License-Identifier: Apache-2.0 */
/* hutch image tag, rm and prune. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/figures.h"
#include "cli/image.h"
#include "cli/operands.h"
#include "cli/output.h"
#include "cli/plain.h"
#include "hutch/image.h"

struct prune_request {
    bool all;
    bool dry_run;
    bool json;
};

struct pruning {
    const struct prune_request *request;
    FILE *file;
    size_t count;
};

static int cmd_tag(const struct cli_verb *verb, int argc, char **argv)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    int index = 0, status = 0;
    if (!cli_begin(verb, argc, argv, NULL, (struct cli_count){2, 2}, &index, &status))
        return status;
    return hutch_image_tag(argv[index], argv[index + 1], &err) < 0 ? cli_report(&err) : 0;
}

const struct cli_verb cli_image_tag = {
    .name = "image tag",
    .summary = "Give an image one more name",
    .usage = "REFERENCE NEW-REFERENCE",
    .run = cmd_tag,
};

/* All of them, even when one fails. */
static int cmd_rm(const struct cli_verb *verb, int argc, char **argv)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    int index = 0, status = 0;
    if (!cli_begin(verb, argc, argv, NULL, (struct cli_count){1, CLI_ANY}, &index, &status))
        return status;
    for (; index < argc; index++)
        if (hutch_image_remove(argv[index], &err) < 0)
            status = cli_report(&err);
    return status;
}

const struct cli_verb cli_image_rm = {
    .name = "image rm",
    .summary = "Take a name away, and what nothing else needs of its image",
    .usage = "REFERENCE...",
    .details =
        "By digest, every name of the image goes. What a run or a sandbox uses, also one that "
        "is stopped, stays until nothing uses it; 'hutch image prune' removes it then.\n",
    .run = cmd_rm,
};

static void list_item(void *userdata, const char *kind, const char *name)
{
    struct pruning *pruning = userdata;
    FILE *file = pruning->file;
    if (pruning->request->json) {
        (void)fputs(pruning->count ? ",{\"kind\":" : "{\"kind\":", file);
        cli_json_string(file, kind);
        (void)fputs(",\"name\":", file);
        cli_json_string(file, name);
        (void)fputc('}', file);
    } else {
        (void)fprintf(file, "%s %s ", pruning->request->dry_run ? "would remove" : "removed", kind);
        cli_plain_write(file, name);
        (void)fputc('\n', file);
    }
    pruning->count++;
}

static void write_sum(FILE *file, const struct prune_request *request,
                      const struct hutch_image_pruned *pruned, bool is_fine)
{
    char size[CLI_FIGURE_BYTES];
    cli_size(pruned->bytes, size);
    if (request->json)
        (void)fprintf(file, "],\"bytes\":%" PRIu64 ",\"ok\":%s}\n", pruned->bytes,
                      is_fine ? "true" : "false");
    else if (is_fine && !pruned->items)
        (void)fputs("nothing to remove\n", file);
    else if (is_fine)
        (void)fprintf(file, "%s %s\n", request->dry_run ? "would free" : "freed", size);
}

/* What was removed is told even when the rest then failed. */
static int prune(const struct prune_request *request, struct hutch_error *err)
{
    CLI_CLEANUP(cli_text_done) struct cli_text text = {0};
    struct hutch_error lost = HUTCH_ERROR_INIT;
    struct hutch_image_pruned pruned = {0};
    int failed = cli_text_open(&text, err);
    if (failed)
        return failed;
    struct pruning pruning = {.request = request, .file = text.file};
    if (request->json)
        (void)fprintf(text.file, "{\"dry_run\":%s,\"items\":[",
                      request->dry_run ? "true" : "false");
    failed = hutch_image_prune(request->all, request->dry_run, list_item, &pruning, &pruned, err);
    write_sum(text.file, request, &pruned, !failed);
    int unsent = cli_text_send(&text, failed ? &lost : err);
    return failed ? failed : unsent;
}

static int cmd_prune(const struct cli_verb *verb, int argc, char **argv)
{
    struct prune_request request = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    int status = 0;
    if (!cli_begin_alone(verb, argc, argv, &request, &status))
        return status;
    return prune(&request, &err) < 0 ? cli_report(&err) : 0;
}

static const struct cli_option prune_options[] = {
    {.name = "all",
     .short_name = 'a',
     .kind = CLI_OPTION_BOOL,
     .offset = offsetof(struct prune_request, all),
     .help = "Also images with a name that no sandbox uses."},
    {.name = "dry-run",
     .kind = CLI_OPTION_BOOL,
     .offset = offsetof(struct prune_request, dry_run),
     .help = "Only tell what would be removed."},
    {.name = "json",
     .kind = CLI_OPTION_BOOL,
     .offset = offsetof(struct prune_request, json),
     .help = "Print one JSON object."},
};

const struct cli_verb cli_image_prune = {
    .name = "image prune",
    .summary = "Remove what no name leads to, and what cut pulls have left",
    .usage = "[FLAG]...",
    .options = prune_options,
    .option_count = CLI_COUNT(prune_options),
    .run = cmd_prune,
};
