/* SPDX-License-Identifier: Apache-2.0 */
/* hutch egress: what has gone out of a sandbox and what has not, once or as it happens. */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/figures.h"
#include "cli/handles.h"
#include "cli/operands.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "cli/table.h"

enum { BETWEEN_LOOKS_MS = 200, CLOCK_BYTES = 32 };

struct egress_request {
    bool follow;
    bool json;
};

static const struct cli_option egress_options[] = {
    {.name = "follow",
     .short_name = 'f',
     .kind = CLI_OPTION_BOOL,
     .offset = offsetof(struct egress_request, follow),
     .help = "Tell of what happens from now on, a line each, until the sandbox ends."},
    {.name = "json",
     .kind = CLI_OPTION_BOOL,
     .offset = offsetof(struct egress_request, json),
     .help = "Print one JSON object; with --follow one on each line."},
};

static void free_egress(struct hutch_egress **egress)
{
    hutch_egress_free(*egress);
}

static void format_clock(uint64_t time_us, char text[CLOCK_BYTES])
{
    time_t seconds = (time_t)(time_us / 1000000);
    struct tm local;
    text[0] = '\0';
    if (localtime_r(&seconds, &local))
        (void)strftime(text, CLOCK_BYTES, "%Y-%m-%d %H:%M:%S", &local);
}

/* ---- once ------------------------------------------------------------------------------------ */

static const struct cli_column host_columns[] = {
    {.title = "HOST", .least = 16},          {.title = "PORT", .right = true},
    {.title = "CONNECTIONS", .right = true}, {.title = "OUT", .right = true},
    {.title = "IN", .right = true},
};

static const struct cli_column denial_columns[] = {
    {.title = "DENIED", .leave = 2},
    {.title = "HOST", .least = 16},
    {.title = "PORT", .right = true},
    {.title = "WHY"},
    {.title = "TIMES", .right = true, .leave = 1},
};

static void add_port(struct cli_table *table, uint16_t port)
{
    char text[8];
    (void)snprintf(text, sizeof(text), "%u", port);
    cli_table_add(table, port ? text : "-"); /* a question for its address has none */
}

static void add_hosts(struct cli_table *table, const struct hutch_egress *egress)
{
    char text[CLI_FIGURE_BYTES];
    for (size_t i = 0; i < egress->host_count; i++) {
        const struct hutch_egress_host *host = &egress->hosts[i];
        cli_table_add(table, host->name);
        add_port(table, host->port);
        cli_count(host->connections, text);
        cli_table_add(table, text);
        cli_size(host->bytes_out, text);
        cli_table_add(table, text);
        cli_size(host->bytes_in, text);
        cli_table_add(table, text);
    }
}

static void add_denials(struct cli_table *table, const struct hutch_egress *egress)
{
    char clock[CLOCK_BYTES];
    char text[CLI_FIGURE_BYTES];
    for (size_t i = 0; i < egress->denial_count; i++) {
        const struct hutch_egress_denial *denial = &egress->denials[i];
        format_clock(denial->time_us, clock);
        cli_table_add(table, clock);
        cli_table_add(table, denial->name);
        add_port(table, denial->port);
        cli_table_add(table, denial->why);
        cli_count(denial->times, text);
        cli_table_add(table, text);
    }
}

static int show_tables(const struct hutch_egress *egress, struct hutch_error *err)
{
    CLI_CLEANUP(cli_text_done) struct cli_text text = {0};
    CLI_CLEANUP(cli_table_done)
    struct cli_table hosts = {.columns = host_columns, .column_count = CLI_COUNT(host_columns)};
    CLI_CLEANUP(cli_table_done)
    struct cli_table denials = {.columns = denial_columns,
                                .column_count = CLI_COUNT(denial_columns)};
    struct cli_view view = cli_view_of_stdout();
    view.height = 0;
    add_hosts(&hosts, egress);
    add_denials(&denials, egress);
    int failed = cli_text_open(&text, err);
    if (!failed)
        failed = cli_table_print(&hosts, text.file, &view, err);
    if (!failed && egress->denial_count) {
        (void)fputc('\n', text.file);
        failed = cli_table_print(&denials, text.file, &view, err);
    }
    return failed ? failed : cli_text_send(&text, err);
}

static int show_json(const struct hutch_egress *egress, struct hutch_error *err)
{
    CLI_CLEANUP(cli_text_done) struct cli_text text = {0};
    CLI_CLEANUP(cli_free) char *json = NULL;
    if (hutch_egress_to_json(egress, &json, err) < 0 || cli_text_open(&text, err) < 0)
        return -(int)err->code;
    (void)fprintf(text.file, "%s\n", json);
    return cli_text_send(&text, err);
}

/* ---- as it happens --------------------------------------------------------------------------- */

static void tell(FILE *file, bool json, const char *event, const char *name, uint16_t port,
                 const char *why, uint64_t times, uint64_t time_us)
{
    char clock[CLOCK_BYTES];
    if (json) {
        (void)fprintf(file, "{\"event\":\"%s\",\"time_ms\":%llu,\"name\":", event,
                      (unsigned long long)(time_us / 1000));
        cli_json_string(file, name);
        (void)fprintf(file, ",\"port\":%u,\"times\":%llu", port, (unsigned long long)times);
        if (why)
            (void)fprintf(file, ",\"why\":\"%s\"", why);
        (void)fputs("}\n", file);
        return;
    }
    format_clock(time_us, clock);
    (void)fprintf(file, "%s %-7s %s", clock, event, name);
    if (port)
        (void)fprintf(file, ":%u", port);
    if (why)
        (void)fprintf(file, " (%s)", why);
    if (times > 1)
        (void)fprintf(file, " %llu times", (unsigned long long)times);
    (void)fputc('\n', file);
}

static uint64_t clock_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static uint64_t connections_to(const struct hutch_egress *egress,
                               const struct hutch_egress_host *host)
{
    for (size_t i = 0; i < egress->host_count; i++)
        if (egress->hosts[i].port == host->port && !strcmp(egress->hosts[i].name, host->name))
            return egress->hosts[i].connections;
    return 0;
}

static const struct hutch_egress_denial *denial_by_number(const struct hutch_egress *egress,
                                                          uint64_t number)
{
    for (size_t i = 0; i < egress->denial_count; i++)
        if (egress->denials[i].number == number)
            return &egress->denials[i];
    return NULL;
}

/* What is new. The last of the old rows may have grown. */
static int tell_difference(const struct hutch_egress *before, const struct hutch_egress *now,
                           bool json, struct hutch_error *err)
{
    for (size_t i = 0; i < now->host_count; i++) {
        const struct hutch_egress_host *host = &now->hosts[i];
        uint64_t old = connections_to(before, host);
        if (host->connections > old)
            tell(stdout, json, "reached", host->name, host->port, NULL, host->connections - old,
                 clock_us());
    }
    uint64_t first_unseen =
        before->denial_count ? before->denials[before->denial_count - 1].number + 1 : 0;
    for (size_t i = 0; i < now->denial_count; i++) {
        const struct hutch_egress_denial *denial = &now->denials[i];
        const struct hutch_egress_denial *old =
            denial->number < first_unseen ? denial_by_number(before, denial->number) : NULL;
        uint64_t seen = old ? old->times : 0;
        if ((old || denial->number >= first_unseen) && denial->times > seen)
            tell(stdout, json, "denied", denial->name, denial->port, denial->why,
                 denial->times - seen, denial->time_us);
    }
    return fflush(stdout) == 0 ? 0 : cli_fail_errno(err, errno, "write the output");
}

static bool is_alive(struct hutch_sandbox *sandbox)
{
    struct hutch_sandbox_info info = {0};
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    return hutch_sandbox_info(sandbox, &info, &ignored) == 0 && !info.ended_us;
}

/* One more look after its end: the last moment counts too. */
static int follow(struct hutch_sandbox *sandbox, bool json, struct hutch_error *err)
{
    CLI_CLEANUP(cli_signals_close) struct cli_signals signals = CLI_SIGNALS_INIT;
    CLI_CLEANUP(free_egress) struct hutch_egress *before = NULL;
    if (cli_signals_open(&signals, err) < 0 || hutch_sandbox_egress(sandbox, &before, err) < 0)
        return -(int)err->code;
    for (bool alive = true; alive;) {
        CLI_CLEANUP(free_egress) struct hutch_egress *now = NULL;
        struct pollfd cancel = {signals.cancel_fd, POLLIN, 0};
        if (poll(&cancel, 1, BETWEEN_LOOKS_MS) > 0)
            return 0;
        alive = is_alive(sandbox);
        struct hutch_error gone = HUTCH_ERROR_INIT;
        if (hutch_sandbox_egress(sandbox, &now, &gone) < 0)
            return 0; /* it has been removed */
        if (tell_difference(before, now, json, err) < 0)
            return err->os_errno == EPIPE ? 0 : -(int)err->code; /* its reader has seen enough */
        struct hutch_egress *old = before;
        before = now;
        now = old;
    }
    return 0;
}

static int show(struct hutch_sandbox *sandbox, bool json, struct hutch_error *err)
{
    CLI_CLEANUP(free_egress) struct hutch_egress *egress = NULL;
    if (hutch_sandbox_egress(sandbox, &egress, err) < 0)
        return -(int)err->code;
    return json ? show_json(egress, err) : show_tables(egress, err);
}

static int cmd_egress(const struct cli_verb *verb, int argc, char **argv)
{
    CLI_CLEANUP(cli_sandbox_free) struct hutch_sandbox *sandbox = NULL;
    struct egress_request request = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    int index = 0, status = 0;
    if (!cli_begin(verb, argc, argv, &request, (struct cli_count){1, 1}, &index, &status))
        return status;
    if (hutch_sandbox_open(argv[index], &sandbox, &err) < 0 ||
        (request.follow ? follow : show)(sandbox, request.json, &err) < 0)
        return cli_report(&err);
    return 0;
}

const struct cli_verb cli_verb_egress = {
    .name = "egress",
    .group = "Sandboxes",
    .summary = "Show what went out of a sandbox, and what was denied",
    .usage = "[FLAG]... NAME",
    .details = "Hosts are those that were reached. A denied attempt without a port is a question\n"
               "for the address of a name that no rule has.\n"
               "\n"
               "Examples\n"
               "  hutch egress work\n"
               "  hutch egress -f --json work | jq 'select(.event == \"denied\").name'\n",
    .options = egress_options,
    .option_count = CLI_COUNT(egress_options),
    .run = cmd_egress,
};
