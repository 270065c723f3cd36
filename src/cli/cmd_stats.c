/* SPDX-License-Identifier: Apache-2.0 */
/* hutch stats: two looks a moment apart, one line for each sandbox that runs. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/figures.h"
#include "cli/looks.h"
#include "cli/operands.h"
#include "cli/output.h"
#include "cli/table.h"

enum { BETWEEN_LOOKS_MS = 250, TIMEOUT_MS = 2000 };

struct stats_request {
    bool json;
    const char *label;
};

static const struct cli_option stats_options[] = {
    {.name = "json",
     .kind = CLI_OPTION_BOOL,
     .offset = offsetof(struct stats_request, json),
     .help = "Print one JSON object."},
    {.name = "label",
     .kind = CLI_OPTION_TEXT,
     .offset = offsetof(struct stats_request, label),
     .metavar = "KEY[=VALUE]",
     .help = "Only sandboxes with this label."},
};

static const struct cli_column columns[] = {
    {.title = "NAME", .least = 10},
    {.title = "STATE", .leave = 6, .is_state = true},
    {.title = "CPU%", .right = true},
    {.title = "CPU", .right = true, .leave = 2},
    {.title = "MEMORY", .right = true},
    {.title = "PEAK", .right = true, .leave = 1},
    {.title = "LIMIT", .right = true, .leave = 4},
    {.title = "PIDS", .right = true, .leave = 7},
    {.title = "DISK", .right = true, .leave = 5},
    {.title = "RUNS", .right = true, .leave = 3},
    {.title = "COMMAND", .least = 8, .leave = 8},
};

static void add_size(struct cli_table *table, uint64_t bytes)
{
    char text[CLI_FIGURE_BYTES];
    cli_size(bytes, text);
    cli_table_add(table, text);
}

static void add_count(struct cli_table *table, uint64_t count)
{
    char text[CLI_FIGURE_BYTES];
    cli_count(count, text);
    cli_table_add(table, text);
}

static void add_row(struct cli_table *table, const struct cli_look *look)
{
    char text[CLI_FIGURE_BYTES];
    const struct hutch_stats *stats = &look->stats;
    cli_table_add(table, look->info.name);
    cli_table_add(table, look->info.state);
    if (!look->has_stats) {
        for (size_t i = 2; i < CLI_COUNT(columns); i++)
            cli_table_add(table, i + 1 < CLI_COUNT(columns) ? "-" : "");
        return;
    }
    (void)snprintf(text, sizeof(text), look->has_cpu ? "%.1f" : "-", look->cpu_percent);
    cli_table_add(table, text);
    cli_time_spent(stats->cpu_us, text);
    cli_table_add(table, text);
    add_size(table, stats->memory_bytes);
    add_size(table, stats->memory_peak_bytes);
    add_size(table, stats->memory_limit_bytes);
    add_count(table, stats->pids);
    add_size(table, stats->disk_bytes);
    add_count(table, stats->running);
    cli_table_add(table, stats->command);
}

static int show_table(const struct cli_looks *looks, struct hutch_error *err)
{
    CLI_CLEANUP(cli_text_done) struct cli_text text = {0};
    CLI_CLEANUP(cli_table_done)
    struct cli_table table = {.columns = columns, .column_count = CLI_COUNT(columns)};
    struct cli_view view = cli_view_of_stdout();
    view.height = 0;
    for (size_t i = 0; i < looks->count; i++)
        if (cli_look_is_alive(&looks->items[i]))
            add_row(&table, &looks->items[i]);
    int failed = cli_text_open(&text, err);
    if (!failed)
        failed = cli_table_print(&table, text.file, &view, err);
    return failed ? failed : cli_text_send(&text, err);
}

static const struct {
    const char *key;
    size_t offset;
} figures[] = {
    {"memory_bytes", offsetof(struct hutch_stats, memory_bytes)},
    {"memory_peak_bytes", offsetof(struct hutch_stats, memory_peak_bytes)},
    {"memory_limit_bytes", offsetof(struct hutch_stats, memory_limit_bytes)},
    {"pids", offsetof(struct hutch_stats, pids)},
    {"pids_peak", offsetof(struct hutch_stats, pids_peak)},
    {"pids_limit", offsetof(struct hutch_stats, pids_limit)},
    {"disk_bytes", offsetof(struct hutch_stats, disk_bytes)},
    {"disk_limit_bytes", offsetof(struct hutch_stats, disk_limit_bytes)},
    {"oom_kills", offsetof(struct hutch_stats, oom_kills)},
    {"running", offsetof(struct hutch_stats, running)},
};

static void write_thousandth(FILE *file, const char *key, uint64_t value, int digits)
{
    if (value == HUTCH_STATS_UNKNOWN)
        (void)fprintf(file, ",\"%s\":null", key);
    else
        (void)fprintf(file, ",\"%s\":%.*f", key, digits, (double)value / 1000);
}

/* Without figures there is a name, an id and a state. */
static void write_object(FILE *file, const struct cli_look *look)
{
    const struct hutch_stats *stats = &look->stats;
    (void)fputs("{\"name\":", file);
    cli_json_string(file, look->info.name);
    (void)fprintf(file, ",\"id\":\"%s\",\"state\":\"%s\"", look->info.id, look->info.state);
    if (look->has_stats) {
        write_thousandth(file, "cpu_ms", stats->cpu_us, 0);
        write_thousandth(file, "cpus_limit", stats->cpus_limit_milli, 3);
        (void)fprintf(file, look->has_cpu ? ",\"cpu_percent\":%.1f" : ",\"cpu_percent\":null",
                      look->cpu_percent);
        for (size_t i = 0; i < CLI_COUNT(figures); i++) {
            uint64_t value;
            memcpy(&value, (const char *)stats + figures[i].offset, sizeof(value));
            (void)fprintf(file, value == HUTCH_STATS_UNKNOWN ? ",\"%s\":null" : ",\"%s\":%llu",
                          figures[i].key, (unsigned long long)value);
        }
        (void)fputs(",\"command\":", file);
        if (stats->running)
            cli_json_string(file, stats->command);
        else
            (void)fputs("null", file);
    }
    (void)fputc('}', file);
}

static int show_json(const struct cli_looks *looks, struct hutch_error *err)
{
    CLI_CLEANUP(cli_text_done) struct cli_text text = {0};
    const char *separator = "";
    int failed = cli_text_open(&text, err);
    if (failed)
        return failed;
    (void)fputs("{\"sandboxes\":[", text.file);
    for (size_t i = 0; i < looks->count; i++) {
        if (!cli_look_is_alive(&looks->items[i]))
            continue;
        (void)fputs(separator, text.file);
        write_object(text.file, &looks->items[i]);
        separator = ",";
    }
    (void)fputs("]}\n", text.file);
    return cli_text_send(&text, err);
}

static int look_twice(struct cli_looks *looks, struct hutch_error *err)
{
    const struct timespec between = {.tv_nsec = BETWEEN_LOOKS_MS * 1000000L};
    int failed = cli_looks_ask(looks, true, TIMEOUT_MS, err);
    if (failed)
        return failed;
    (void)nanosleep(&between, NULL);
    return cli_looks_ask(looks, true, TIMEOUT_MS, err);
}

/* Whoever names a sandbox wants to know why there are no figures. Returns the exit status. */
static int explain_missing(const struct cli_looks *looks)
{
    int status = 0;
    for (size_t i = 0; i < looks->count; i++) {
        const struct cli_look *look = &looks->items[i];
        struct hutch_error err = HUTCH_ERROR_INIT;
        if (look->has_stats)
            continue;
        if (cli_look_is_alive(look))
            (void)cli_fail(&err, HUTCH_E_UNAVAILABLE,
                           "the keeper of sandbox '%s' does not answer; it is stopped, or the "
                           "machine is overloaded",
                           look->info.name);
        else
            (void)cli_fail(&err, HUTCH_E_CONFLICT, "sandbox '%s' is %s and uses nothing",
                           look->info.name, look->info.state);
        status = cli_report(&err);
    }
    return status;
}

static int open_named(struct cli_looks *looks, int argc, char **argv, int index)
{
    int status = 0;
    for (int i = index; i < argc; i++) {
        struct hutch_error err = HUTCH_ERROR_INIT;
        if (cli_looks_open(looks, argv[i], &err) < 0)
            status = cli_report(&err);
    }
    return status;
}

static int cmd_stats(const struct cli_verb *verb, int argc, char **argv)
{
    CLI_CLEANUP(cli_looks_done) struct cli_looks looks = {0};
    struct stats_request request = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    int index = 0, status = 0;
    if (!cli_begin(verb, argc, argv, &request, (struct cli_count){0, CLI_ANY}, &index, &status))
        return status;
    bool is_named = index < argc;
    looks.label = request.label;
    if (is_named && request.label) {
        (void)cli_fail(&err, HUTCH_E_INVALID,
                       "'--label' chooses sandboxes, and so do names; give one of them");
        return cli_report(&err);
    }
    if (is_named)
        status = open_named(&looks, argc, argv, index);
    else if (cli_looks_list(&looks, &err) < 0)
        return cli_report(&err);
    if (look_twice(&looks, &err) < 0)
        return cli_report(&err);
    int missing = is_named ? explain_missing(&looks) : 0;
    if ((request.json ? show_json : show_table)(&looks, &err) < 0)
        return cli_report(&err);
    return status ? status : missing;
}

const struct cli_verb cli_verb_stats = {
    .name = "stats",
    .group = "Sandboxes",
    .summary = "Show what running sandboxes use now",
    .usage = "[FLAG]... [NAME]...",
    .details = "CPU% is the share of one processor during the last quarter of a second.\n"
               "A sandbox whose keeper does not answer is shown as unresponsive.\n"
               "\n"
               "Examples\n"
               "  hutch stats\n"
               "  hutch stats --json work | jq '.sandboxes[0].memory_bytes'\n",
    .options = stats_options,
    .option_count = CLI_COUNT(stats_options),
    .run = cmd_stats,
};
