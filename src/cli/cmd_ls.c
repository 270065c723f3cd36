/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/figures.h"
#include "cli/handles.h"
#include "cli/looks.h"
#include "cli/operands.h"
#include "cli/output.h"
#include "cli/table.h"

struct ls_request {
    bool json;
    bool quiet;
    const char *label;
};

enum { TIMEOUT_MS = 2000 };

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
    {.name = "label",
     .kind = CLI_OPTION_TEXT,
     .offset = offsetof(struct ls_request, label),
     .metavar = "KEY[=VALUE]",
     .help = "Only sandboxes with this label."},
};

static const struct cli_column columns[] = {
    {.title = "NAME", .least = 10},
    {.title = "STATE", .is_state = true},
    {.title = "AGE", .right = true, .leave = 2},
    {.title = "FILES", .leave = 1},
    {.title = "REASON", .least = 8, .leave = 3},
};

/* A sandbox whose state cannot be read is listed all the same: it is there. */
static void add_row(struct cli_table *table, const struct cli_look *look)
{
    const struct hutch_sandbox_info *info = &look->info;
    char age[CLI_FIGURE_BYTES] = "-";
    if (!look->is_damaged)
        cli_age(info->created_us, age);
    cli_table_add(table, info->name);
    cli_table_add(table, info->state);
    cli_table_add(table, age);
    cli_table_add(table, look->is_damaged ? "-" : info->on_disk ? "disk" : "memory");
    cli_table_add(table, info->reason);
}

/* False where there is nothing to write of it any more. */
static bool write_object(FILE *file, const struct cli_look *look, bool is_first)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    CLI_CLEANUP(cli_free) char *json = NULL;
    bool is_whole = !look->is_damaged && hutch_sandbox_to_json(look->sandbox, &json, &err) == 0;
    if (look->is_gone || (!is_whole && err.code == HUTCH_E_NOT_FOUND))
        return false;
    (void)fputs(is_first ? "" : ",", file);
    if (is_whole) {
        (void)fputs(json, file);
        return true;
    }
    (void)fputs("{\"name\":", file);
    cli_json_string(file, look->info.name);
    (void)fputs(",\"state\":\"damaged\"}", file);
    return true;
}

static int print_table(const struct cli_looks *looks, FILE *file, struct hutch_error *err)
{
    CLI_CLEANUP(cli_table_done)
    struct cli_table table = {.columns = columns, .column_count = CLI_COUNT(columns)};
    struct cli_view view = cli_view_of_stdout();
    view.height = 0;
    for (size_t i = 0; i < looks->count; i++)
        if (!looks->items[i].is_gone)
            add_row(&table, &looks->items[i]);
    return cli_table_print(&table, file, &view, err);
}

static int list(const struct ls_request *request, struct hutch_error *err)
{
    CLI_CLEANUP(cli_text_done) struct cli_text text = {0};
    CLI_CLEANUP(cli_looks_done) struct cli_looks looks = {.label = request->label};
    if (cli_text_open(&text, err) < 0 || cli_looks_list(&looks, err) < 0 ||
        (!request->quiet && cli_looks_ask(&looks, false, TIMEOUT_MS, err) < 0))
        return -(int)err->code;
    if (request->quiet) {
        for (size_t i = 0; i < looks.count; i++)
            (void)fprintf(text.file, "%s\n", looks.items[i].info.name);
    } else if (request->json) {
        (void)fputs("{\"sandboxes\":[", text.file);
        size_t written = 0;
        for (size_t i = 0; i < looks.count; i++)
            written += write_object(text.file, &looks.items[i], !written);
        (void)fputs("]}\n", text.file);
    } else if (print_table(&looks, text.file, err) < 0) {
        return -(int)err->code;
    }
    return cli_text_send(&text, err);
}

static int cmd_ls(const struct cli_verb *verb, int argc, char **argv)
{
    struct ls_request request = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    int status = 0;
    if (!cli_begin_alone(verb, argc, argv, &request, &status))
        return status;
    if (request.quiet && request.json) {
        (void)cli_fail(&err, HUTCH_E_INVALID,
                       "'--quiet' prints names, '--json' everything; give one of them");
        return cli_report(&err);
    }
    return list(&request, &err) < 0 ? cli_report(&err) : 0;
}

const struct cli_verb cli_verb_ls = {
    .name = "ls",
    .group = "Sandboxes",
    .summary = "List the sandboxes there are",
    .usage = "[FLAG]...",
    .options = ls_options,
    .option_count = CLI_COUNT(ls_options),
    .run = cmd_ls,
};
