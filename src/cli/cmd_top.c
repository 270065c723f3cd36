/* SPDX-License-Identifier: Apache-2.0 */
/* hutch top: the table of 'hutch stats', again and again, on a screen of its own.
 *
 * The screen is the terminal's alternate one, so that what stood there before comes back. Whatever
 * ends top (a key, a signal, kill -9), the terminal is put back: by itself, or by the guard of
 * terminal.h. */
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/figures.h"
#include "cli/looks.h"
#include "cli/operands.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "cli/table.h"
#include "cli/terminal.h"

/* The alternate screen, no cursor, no wrapping of long lines; and back. */
#define SCREEN_ENTER "\033[?1049h\033[?25l\033[?7l\033[2J"
#define SCREEN_LEAVE "\033[?7h\033[?25h\033[?1049l"

#define DEFAULT_INTERVAL "2s"
enum { LEAST_INTERVAL_MS = 100, FIRST_INTERVAL_MS = 250, TIMEOUT_MS = 1000, LINES_BESIDE = 4 };

struct top_request {
    const char *label;
    const char *interval;
    uint64_t interval_ms;
};

static const struct cli_option top_options[] = {
    {.name = "label",
     .kind = CLI_OPTION_TEXT,
     .offset = offsetof(struct top_request, label),
     .metavar = "KEY[=VALUE]",
     .help = "Only sandboxes with this label."},
    {.name = "interval",
     .kind = CLI_OPTION_TEXT,
     .offset = offsetof(struct top_request, interval),
     .metavar = "DURATION",
     .default_text = DEFAULT_INTERVAL,
     .help = "Time between two looks."},
};

static const struct cli_column columns[] = {
    {.title = "NAME", .least = 10},
    {.title = "STATE", .leave = 5, .is_state = true},
    {.title = "CPU%", .right = true},
    {.title = "MEMORY", .right = true},
    {.title = "LIMIT", .right = true, .leave = 1},
    {.title = "PIDS", .right = true, .leave = 6},
    {.title = "DISK", .right = true, .leave = 3},
    {.title = "AGE", .right = true, .leave = 4},
    {.title = "RUNS", .right = true, .leave = 2},
    {.title = "COMMAND", .least = 8, .leave = 7},
};

static void add_row(struct cli_table *table, const struct cli_look *look)
{
    char text[CLI_FIGURE_BYTES];
    const struct hutch_stats *stats = &look->stats;
    const uint64_t sizes[] = {stats->memory_bytes, stats->memory_limit_bytes};
    cli_table_add(table, look->info.name);
    cli_table_add(table, look->info.state);
    (void)snprintf(text, sizeof(text), look->has_cpu ? "%.1f" : "-", look->cpu_percent);
    cli_table_add(table, text);
    for (size_t i = 0; i < CLI_COUNT(sizes); i++) {
        cli_size(sizes[i], text);
        cli_table_add(table, look->has_stats ? text : "-");
    }
    cli_count(stats->pids, text);
    cli_table_add(table, look->has_stats ? text : "-");
    cli_size(stats->disk_bytes, text);
    cli_table_add(table, look->has_stats ? text : "-");
    cli_age(look->info.created_us, text);
    cli_table_add(table, text);
    cli_count(stats->running, text);
    cli_table_add(table, look->has_stats ? text : "-");
    cli_table_add(table, look->has_stats ? stats->command : "");
}

static int by_cpu(const void *a, const void *b)
{
    const struct cli_look *left = *(const struct cli_look *const *)a;
    const struct cli_look *right = *(const struct cli_look *const *)b;
    double left_cpu = left->has_cpu ? left->cpu_percent : -1;
    double right_cpu = right->has_cpu ? right->cpu_percent : -1;
    if (left_cpu > right_cpu || left_cpu < right_cpu)
        return left_cpu > right_cpu ? -1 : 1;
    return strcmp(left->info.name, right->info.name);
}

/* Those that live, busiest first. Free it with free(). */
static const struct cli_look **sorted(const struct cli_looks *looks, size_t *ret_count)
{
    const struct cli_look **order = calloc(looks->count + 1, sizeof(const struct cli_look *));
    if (!order)
        return NULL;
    *ret_count = 0;
    for (size_t i = 0; i < looks->count; i++)
        if (cli_look_is_alive(&looks->items[i]))
            order[(*ret_count)++] = &looks->items[i];
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers are what is sorted */
    qsort(order, *ret_count, sizeof(*order), by_cpu);
    return order;
}

static void print_summary(FILE *file, const struct cli_look *const *order, size_t count,
                          size_t width)
{
    char line[160], size[CLI_FIGURE_BYTES], clock[16] = "";
    time_t now = time(NULL);
    struct tm local;
    double cpu = 0;
    uint64_t memory = 0, running = 0;
    for (size_t i = 0; i < count; i++) {
        cpu += order[i]->has_cpu ? order[i]->cpu_percent : 0;
        if (order[i]->has_stats && order[i]->stats.memory_bytes != HUTCH_STATS_UNKNOWN)
            memory += order[i]->stats.memory_bytes;
        running += order[i]->has_stats ? order[i]->stats.running : 0;
    }
    if (localtime_r(&now, &local))
        (void)strftime(clock, sizeof(clock), "%H:%M:%S", &local);
    cli_size(memory, size);
    (void)snprintf(line, sizeof(line), "%s  %zu sandbox%s, %llu command%s, cpu %.1f%%, memory %s",
                   clock, count, count == 1 ? "" : "es", (unsigned long long)running,
                   running == 1 ? "" : "s", cpu, size);
    (void)fprintf(file, "\033[H%.*s\033[K\n", (int)(width < 4096 ? width : 4096), line);
}

static int draw(const struct cli_looks *looks, struct hutch_error *err)
{
    CLI_CLEANUP(cli_text_done) struct cli_text text = {0};
    CLI_CLEANUP(cli_table_done)
    struct cli_table table = {.columns = columns, .column_count = CLI_COUNT(columns)};
    struct cli_view view = cli_view_of_stdout();
    size_t count = 0, height = view.height;
    view.is_screen = true;
    view.width -= view.width > 1; /* clearing the rest of a full line takes its last character */
    view.height = height > LINES_BESIDE ? height - LINES_BESIDE : 1;
    const struct cli_look **order = sorted(looks, &count);
    if (!order)
        return cli_fail(err, HUTCH_E_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < count; i++)
        add_row(&table, order[i]);
    int failed = cli_text_open(&text, err);
    if (!failed) {
        if (height > LINES_BESIDE)
            print_summary(text.file, order, count, view.width);
        else
            (void)fputs("\033[H", text.file);
        failed = cli_table_print(&table, text.file, &view, err);
    }
    free(order);
    if (failed)
        return failed;
    if (height > LINES_BESIDE && !count)
        (void)fputs("(no sandbox is running)\033[K\n", text.file);
    (void)fputs("\033[J", text.file);
    if (count > view.height)
        (void)fprintf(text.file, "\033[%zu;1H%zu more", height, count - view.height);
    else if (height > LINES_BESIDE)
        (void)fprintf(text.file, "\033[%zu;1Hq quits", height);
    return cli_text_show(&text, err);
}

static uint64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool is_quit_key(void)
{
    char keys[64];
    ssize_t got = read(STDIN_FILENO, keys, sizeof(keys));
    for (ssize_t i = 0; i < got; i++)
        if (keys[i] == 'q' || keys[i] == 'Q' || keys[i] == 4)
            return true;
    return got == 0;
}

/* Until the next look, the end (its exit status is told), or a redraw. */
enum event { EVENT_LOOK, EVENT_DRAW, EVENT_END };

static enum event wait_for_event(const struct cli_signals *signals, uint64_t until_ms,
                                 int *ret_status)
{
    uint64_t now = now_ms();
    struct pollfd fds[] = {{signals->cancel_fd, POLLIN, 0},
                           {signals->resize_fd, POLLIN, 0},
                           {isatty(STDIN_FILENO) == 1 ? STDIN_FILENO : -1, POLLIN, 0}};
    if (now >= until_ms)
        until_ms = now;
    if (poll(fds, CLI_COUNT(fds), (int)(until_ms - now)) <= 0)
        return EVENT_LOOK;
    if (fds[0].revents) {
        int number = cli_signals_read(signals);
        *ret_status = number == SIGINT ? 0 : 128 + number;
        return EVENT_END;
    }
    if (fds[2].revents && is_quit_key())
        return EVENT_END;
    if (fds[1].revents)
        cli_signals_drain_resize(signals);
    return EVENT_DRAW;
}

static int watch(const struct top_request *request, struct cli_looks *looks,
                 const struct cli_signals *signals, int *ret_status, struct hutch_error *err)
{
    uint64_t next_ms = now_ms();
    bool is_first = true;
    enum event event = EVENT_LOOK;
    while (event != EVENT_END) {
        if (event == EVENT_LOOK) {
            if (cli_looks_list(looks, err) < 0 || cli_looks_ask(looks, true, TIMEOUT_MS, err) < 0)
                return -(int)err->code;
            next_ms = now_ms() + (is_first ? FIRST_INTERVAL_MS : request->interval_ms);
            is_first = false;
        }
        if (draw(looks, err) < 0)
            return -(int)err->code;
        event = wait_for_event(signals, next_ms, ret_status);
    }
    return 0;
}

static int show(const struct top_request *request, int *ret_status, struct hutch_error *err)
{
    CLI_CLEANUP(cli_looks_done) struct cli_looks looks = {.label = request->label};
    CLI_CLEANUP(cli_signals_close) struct cli_signals signals = CLI_SIGNALS_INIT;
    CLI_CLEANUP(cli_terminal_restore) struct cli_terminal terminal = CLI_TERMINAL_INIT;
    if (cli_signals_open(&signals, err) < 0 ||
        cli_terminal_take_screen(&terminal, STDOUT_FILENO, SCREEN_ENTER, SCREEN_LEAVE, err) < 0)
        return -(int)err->code;
    return watch(request, &looks, &signals, ret_status, err);
}

static int settle(struct top_request *request, struct hutch_error *err)
{
    const char *text = request->interval ? request->interval : DEFAULT_INTERVAL;
    if (hutch_duration_parse(text, &request->interval_ms, err) < 0) {
        struct hutch_error cause = *err;
        return cli_fail(err, cause.code, "--interval: %.440s", cause.msg);
    }
    if (request->interval_ms < LEAST_INTERVAL_MS || request->interval_ms > 86400000)
        return cli_fail(err, HUTCH_E_INVALID, "--interval: '%.40s' is not between 100ms and 1d",
                        text);
    if (isatty(STDOUT_FILENO) != 1)
        return cli_fail(err, HUTCH_E_INVALID,
                        "'hutch top' draws on a terminal, but standard output is none; use 'hutch "
                        "stats'");
    const char *kind = getenv("TERM");
    if (kind && !strcmp(kind, "dumb"))
        return cli_fail(err, HUTCH_E_INVALID,
                        "'hutch top' cannot draw on a terminal of kind 'dumb'; use 'hutch stats'");
    return 0;
}

static int cmd_top(const struct cli_verb *verb, int argc, char **argv)
{
    struct top_request request = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    int status = 0;
    if (!cli_begin_alone(verb, argc, argv, &request, &status))
        return status;
    if (settle(&request, &err) < 0 || show(&request, &status, &err) < 0)
        return cli_report(&err);
    return status;
}

const struct cli_verb cli_verb_top = {
    .name = "top",
    .group = "Sandboxes",
    .summary = "Watch what running sandboxes use, busiest first",
    .usage = "[FLAG]...",
    .details = "CPU% is the share of one processor since the look before. q ends it.\n",
    .options = top_options,
    .option_count = CLI_COUNT(top_options),
    .run = cmd_top,
};
