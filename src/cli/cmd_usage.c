/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/figures.h"
#include "cli/operands.h"
#include "cli/output.h"
#include "cli/table.h"
#include "hutch/audit.h"

struct usage_request {
    const char *by;
    const char *since;
    const char *label;
    bool json;
};

static const struct cli_option usage_options[] = {
    {.name = "by",
     .kind = CLI_OPTION_TEXT,
     .offset = offsetof(struct usage_request, by),
     .metavar = "WHAT",
     .default_text = "user",
     .help = "Add up by label.KEY, user, image, backend or day."},
    {.name = "since",
     .kind = CLI_OPTION_TEXT,
     .offset = offsetof(struct usage_request, since),
     .metavar = "TIME",
     .help = "Only what ended since then: how long ago (90m, 24h), or a moment in UTC "
             "(2026-11-16, 2026-11-16T10:00:00Z)."},
    {.name = "label",
     .kind = CLI_OPTION_TEXT,
     .offset = offsetof(struct usage_request, label),
     .metavar = "KEY[=VALUE]",
     .help = "Only runs and sandboxes with this label."},
    {.name = "json",
     .kind = CLI_OPTION_BOOL,
     .offset = offsetof(struct usage_request, json),
     .help = "Print one JSON object."},
};

static const struct cli_column columns[] = {
    {.title = "GROUP", .least = 8},          {.title = "RUNS", .right = true},
    {.title = "CPU-SECONDS", .right = true}, {.title = "MEMORY-MIB-SECONDS", .right = true},
    {.title = "EGRESS", .right = true},
};

struct sums {
    FILE *file;
    struct cli_table *table;
    bool json;
    size_t count;
};

static int add_sum(void *userdata, const struct hutch_audit_sum *sum)
{
    struct sums *sums = userdata;
    char runs[CLI_FIGURE_BYTES], cpu[32], memory[40], egress[CLI_FIGURE_BYTES];
    (void)snprintf(cpu, sizeof(cpu), "%.3f", (double)sum->cpu_us / 1e6);
    (void)snprintf(memory, sizeof(memory), "%.3f", sum->memory_mib_seconds);
    if (sums->json) {
        (void)fputs(sums->count++ ? ",{\"group\":" : "{\"group\":", sums->file);
        cli_json_string(sums->file, sum->group);
        (void)fprintf(sums->file,
                      ",\"runs\":%" PRIu64
                      ",\"cpu_seconds\":%s,\"memory_mib_seconds\":%s,\"egress_bytes\":%" PRIu64 "}",
                      sum->runs, cpu, memory, sum->egress_bytes);
        return 0;
    }
    cli_count(sum->runs, runs);
    cli_size(sum->egress_bytes, egress);
    cli_table_add(sums->table, *sum->group ? sum->group : "-");
    cli_table_add(sums->table, runs);
    cli_table_add(sums->table, cpu);
    cli_table_add(sums->table, memory);
    cli_table_add(sums->table, egress);
    return 0;
}

static int print(const struct usage_request *request, struct hutch_error *err)
{
    CLI_CLEANUP(cli_text_done) struct cli_text text = {0};
    CLI_CLEANUP(cli_table_done)
    struct cli_table table = {.columns = columns, .column_count = CLI_COUNT(columns)};
    struct hutch_audit_query query = HUTCH_AUDIT_QUERY_INIT;
    struct cli_view view = cli_view_of_stdout();
    view.height = 0;
    query.since = request->since;
    query.label = request->label;
    const char *by = request->by ? request->by : "user";
    if (cli_text_open(&text, err) < 0)
        return -(int)err->code;
    struct sums sums = {.file = text.file, .table = &table, .json = request->json};
    if (request->json) {
        (void)fputs("{\"by\":", text.file);
        cli_json_string(text.file, by);
        (void)fputs(",\"usage\":[", text.file);
    }
    if (hutch_audit_usage(by, &query, add_sum, &sums, err) < 0)
        return -(int)err->code;
    if (request->json)
        (void)fputs("]}\n", text.file);
    else if (cli_table_print(&table, text.file, &view, err) < 0)
        return -(int)err->code;
    return cli_text_send(&text, err);
}

static int cmd_usage(const struct cli_verb *verb, int argc, char **argv)
{
    struct usage_request request = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    int status = 0;
    if (!cli_begin_alone(verb, argc, argv, &request, &status))
        return status;
    return print(&request, &err) < 0 ? cli_report(&err) : 0;
}

const struct cli_verb cli_verb_usage = {
    .name = "usage",
    .group = "This machine",
    .summary = "Add up what runs and sandboxes have used",
    .usage = "[FLAG]...",
    .options = usage_options,
    .option_count = CLI_COUNT(usage_options),
    .run = cmd_usage,
};
