/* SPDX-License-Identifier: Apache-2.0 */
/* hutch image ls and inspect. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/figures.h"
#include "cli/handles.h"
#include "cli/image.h"
#include "cli/operands.h"
#include "cli/output.h"
#include "cli/plain.h"
#include "cli/pretty.h"
#include "cli/table.h"
#include "hutch/image.h"

struct ls_request {
    bool json;
    bool quiet;
};

struct listing {
    const struct ls_request *request;
    struct cli_table table;
    FILE *file;
    size_t count;
};

enum { SHORT_DIGITS = 12, DIGEST_PREFIX = sizeof("sha256:") - 1 };

static const struct cli_column columns[] = {
    {.title = "NAME", .least = 16},    {.title = "DIGEST", .leave = 3},
    {.title = "PLATFORM", .leave = 2}, {.title = "LAYERS", .right = true, .leave = 1},
    {.title = "SIZE", .right = true},  {.title = "AGE", .right = true, .leave = 4},
};

static void add_row(struct cli_table *table, const struct hutch_image_info *info)
{
    char digest[SHORT_DIGITS + 1], layers[CLI_FIGURE_BYTES], size[CLI_FIGURE_BYTES],
        age[CLI_FIGURE_BYTES];
    (void)snprintf(digest, sizeof(digest), "%s", info->digest + DIGEST_PREFIX);
    cli_count(info->layers, layers);
    cli_size(info->bytes, size);
    cli_age(info->changed_us, age);
    cli_table_add(table, info->name);
    cli_table_add(table, digest);
    cli_table_add(table, info->platform);
    cli_table_add(table, layers);
    cli_table_add(table, size);
    cli_table_add(table, age);
}

static void write_text(FILE *file, const char *key, const char *text)
{
    (void)fprintf(file, ",\"%s\":", key);
    if (text)
        cli_json_string(file, text);
    else
        (void)fputs("null", file);
}

static void write_object(FILE *file, const struct hutch_image_info *info)
{
    (void)fputs("{\"reference\":", file);
    cli_json_string(file, info->reference);
    write_text(file, "name", info->name);
    write_text(file, "digest", info->digest);
    write_text(file, "platform", info->platform);
    write_text(file, "created", info->created);
    (void)fprintf(file, ",\"layers\":%zu,\"bytes\":%" PRIu64 ",\"changed_us\":%" PRIu64 "}",
                  info->layers, info->bytes, info->changed_us);
}

static int list_one(void *userdata, const struct hutch_image_info *info)
{
    struct listing *listing = userdata;
    if (listing->request->quiet) {
        cli_plain_write(listing->file, info->name);
        (void)fputc('\n', listing->file);
    } else if (listing->request->json) {
        (void)fputs(listing->count ? "," : "", listing->file);
        write_object(listing->file, info);
    } else {
        add_row(&listing->table, info);
    }
    listing->count++;
    return 0;
}

static void listing_done(struct listing *listing)
{
    cli_table_done(&listing->table);
}

static int list(const struct ls_request *request, struct hutch_error *err)
{
    CLI_CLEANUP(cli_text_done) struct cli_text text = {0};
    CLI_CLEANUP(listing_done)
    struct listing listing = {.request = request,
                              .table = {.columns = columns, .column_count = CLI_COUNT(columns)}};
    struct cli_view view = cli_view_of_stdout();
    view.height = 0;
    if (cli_text_open(&text, err) < 0)
        return -(int)err->code;
    listing.file = text.file;
    (void)fputs(request->json ? "{\"images\":[" : "", text.file);
    if (hutch_image_list(list_one, &listing, err) < 0)
        return -(int)err->code;
    (void)fputs(request->json ? "]}\n" : "", text.file);
    if (!request->json && !request->quiet &&
        cli_table_print(&listing.table, text.file, &view, err) < 0)
        return -(int)err->code;
    return cli_text_send(&text, err);
}

static int cmd_ls(const struct cli_verb *verb, int argc, char **argv)
{
    struct ls_request request = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    int status = 0;
    if (!cli_begin_alone(verb, argc, argv, &request, &status))
        return status;
    if (request.quiet && request.json)
        (void)cli_fail(&err, HUTCH_E_INVALID,
                       "'--quiet' prints names, '--json' everything; give one of them");
    else if (list(&request, &err) == 0)
        return 0;
    return cli_report(&err);
}

static const struct cli_option ls_options[] = {
    {.name = "json",
     .kind = CLI_OPTION_BOOL,
     .offset = offsetof(struct ls_request, json),
     .help = "Print one JSON object."},
    {.name = "quiet",
     .short_name = 'q',
     .kind = CLI_OPTION_BOOL,
     .offset = offsetof(struct ls_request, quiet),
     .help = "Print names only."},
};

const struct cli_verb cli_image_ls = {
    .name = "image ls",
    .summary = "List the images that are here",
    .usage = "[FLAG]...",
    .options = ls_options,
    .option_count = CLI_COUNT(ls_options),
    .run = cmd_ls,
};

static int print_one(FILE *file, const char *reference, bool is_pretty, struct hutch_error *err)
{
    CLI_CLEANUP(cli_free) char *json = NULL;
    int failed = hutch_image_inspect(reference, &json, err);
    if (failed)
        return failed;
    if (is_pretty)
        cli_json_pretty(file, json);
    else
        (void)fprintf(file, "%s\n", json);
    return 0;
}

static int cmd_inspect(const struct cli_verb *verb, int argc, char **argv)
{
    CLI_CLEANUP(cli_text_done) struct cli_text text = {0};
    struct ls_request request = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    int index = 0, status = 0;
    if (!cli_begin(verb, argc, argv, &request, (struct cli_count){1, CLI_ANY}, &index, &status))
        return status;
    if (cli_text_open(&text, &err) < 0)
        return cli_report(&err);
    bool is_pretty = !request.json && isatty(STDOUT_FILENO) == 1;
    for (; index < argc; index++) {
        int failed = print_one(text.file, argv[index], is_pretty, &err);
        status = failed ? cli_report(&err) : status;
    }
    return cli_text_send(&text, &err) < 0 ? cli_report(&err) : status;
}

static const struct cli_option inspect_options[] = {
    {.name = "json",
     .kind = CLI_OPTION_BOOL,
     .offset = offsetof(struct ls_request, json),
     .help = "On one line also on a terminal."},
};

const struct cli_verb cli_image_inspect = {
    .name = "image inspect",
    .summary = "Print everything about an image as JSON",
    .usage = "[FLAG]... REFERENCE...",
    .details = "One JSON object for each, indented on a terminal and on one line elsewhere.\n",
    .options = inspect_options,
    .option_count = CLI_COUNT(inspect_options),
    .run = cmd_inspect,
};
