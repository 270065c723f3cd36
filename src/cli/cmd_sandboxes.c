/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/operands.h"
#include "cli/output.h"
#include "cli/table.h"
#include "hutch/named.h"

struct sandboxes_request {
    bool json;
    struct cli_list directories;
};

static void request_done(struct sandboxes_request *request)
{
    cli_list_done(&request->directories);
}

struct listing {
    FILE *file; /* JSON goes there, and rows into the table */
    struct cli_table table;
    bool json;
    size_t count;
};

static const struct cli_option sandboxes_options[] = {
    {.name = "sandbox-dir",
     .kind = CLI_OPTION_LIST,
     .offset = offsetof(struct sandboxes_request, directories),
     .metavar = "DIR",
     .repeats = true,
     .help = "Look here first."},
    {.name = "json",
     .kind = CLI_OPTION_BOOL,
     .offset = offsetof(struct sandboxes_request, json),
     .help = "Print one JSON object."},
};

static const struct cli_column columns[] = {
    {.title = "NAME", .least = 10},
    {.title = "HAS", .leave = 1},
    {.title = "DIRECTORY", .least = 16},
};

static const char *parts_of(const struct hutch_named_info *info)
{
    static const char *const parts[] = {"", "sandbox.yml", "Dockerfile", "Dockerfile, sandbox.yml"};
    return parts[info->has_dockerfile * 2 + info->has_spec];
}

static int list_one(void *userdata, const struct hutch_named_info *info)
{
    struct listing *listing = userdata;
    if (listing->json) {
        (void)fputs(listing->count++ ? ",{\"name\":" : "{\"name\":", listing->file);
        cli_json_string(listing->file, info->name);
        (void)fputs(",\"path\":", listing->file);
        cli_json_string(listing->file, info->path);
        (void)fprintf(listing->file, ",\"dockerfile\":%s,\"spec\":%s}",
                      info->has_dockerfile ? "true" : "false", info->has_spec ? "true" : "false");
        return 0;
    }
    cli_table_add(&listing->table, info->name);
    cli_table_add(&listing->table, parts_of(info));
    cli_table_add(&listing->table, info->path);
    return 0;
}

static int list(const struct sandboxes_request *request, struct listing *listing,
                struct hutch_error *err)
{
    CLI_CLEANUP(cli_text_done) struct cli_text text = {0};
    struct hutch_named_options options = HUTCH_NAMED_OPTIONS_INIT;
    struct cli_view view = cli_view_of_stdout();
    options.directories = request->directories.items;
    view.height = 0;
    int failed = cli_text_open(&text, err);
    if (failed)
        return failed;
    listing->file = text.file;
    if (listing->json)
        (void)fputs("{\"sandboxes\":[", text.file);
    failed = hutch_named_list(&options, list_one, listing, err);
    if (!failed && listing->json)
        (void)fputs("]}\n", text.file);
    else if (!failed)
        failed = cli_table_print(&listing->table, text.file, &view, err);
    return failed ? failed : cli_text_send(&text, err);
}

static int cmd_sandboxes(const struct cli_verb *verb, int argc, char **argv)
{
    CLI_CLEANUP(request_done) struct sandboxes_request request = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    int status = 0;
    if (!cli_begin_alone(verb, argc, argv, &request, &status))
        return status;
    struct listing listing = {
        .table = {.columns = columns, .column_count = CLI_COUNT(columns)},
        .json = request.json,
    };
    int failed = list(&request, &listing, &err);
    cli_table_done(&listing.table);
    return failed ? cli_report(&err) : 0;
}

const struct cli_verb cli_verb_sandboxes = {
    .name = "sandboxes",
    .group = "Images",
    .summary = "List the named sandboxes that 'run --sandbox' finds",
    .usage = "[FLAG]...",
    .details = "A named sandbox is a directory with a Dockerfile, a sandbox.yml or both. It is\n"
               "looked for in each --sandbox-dir, in the directories of $HUTCH_SANDBOXES, in\n"
               "./configs/sandboxes, and among those that came with hutch.\n",
    .options = sandboxes_options,
    .option_count = CLI_COUNT(sandboxes_options),
    .run = cmd_sandboxes,
};
