/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/operands.h"
#include "cli/output.h"
#include "hutch/host.h"

struct doctor_request {
    bool json;
};

/* What has been found so far, and how to show it. */
struct findings {
    FILE *file;
    bool colour;
    size_t count[HUTCH_CHECK_FAIL + 1];
    size_t total;
};

static const struct cli_option doctor_options[] = {
    {.name = "json",
     .kind = CLI_OPTION_BOOL,
     .offset = offsetof(struct doctor_request, json),
     .help = "Print one JSON object."},
};

static const struct {
    const char *name;
    const char *colour; /* ANSI code */
} statuses[] = {
    [HUTCH_CHECK_OK] = {"ok", "32"},
    [HUTCH_CHECK_WARN] = {"warn", "33"},
    [HUTCH_CHECK_FAIL] = {"fail", "31"},
};

static void count_check(struct findings *found, const struct hutch_check *check)
{
    found->count[check->status]++;
    found->total++;
}

static void show_json(void *userdata, const struct hutch_check *check)
{
    struct findings *found = userdata;
    (void)fputs(found->total ? ",{\"name\":" : "{\"name\":", found->file);
    cli_json_string(found->file, check->name);
    (void)fprintf(found->file, ",\"status\":\"%s\",\"detail\":", statuses[check->status].name);
    cli_json_string(found->file, check->detail);
    (void)fputs(",\"remedy\":", found->file);
    cli_json_string(found->file, check->remedy);
    (void)fputc('}', found->file);
    count_check(found, check);
}

/* One line per check, for grep. */
static void show_line(void *userdata, const struct hutch_check *check)
{
    struct findings *found = userdata;
    (void)fprintf(found->file, "%s %s: %s%s%s\n", statuses[check->status].name, check->name,
                  check->detail, *check->remedy ? "; fix: " : "", check->remedy);
    count_check(found, check);
}

static void show_row(void *userdata, const struct hutch_check *check)
{
    struct findings *found = userdata;
    const char *name = statuses[check->status].name;
    if (found->colour)
        (void)fprintf(found->file, "\033[%sm%-4s\033[0m", statuses[check->status].colour, name);
    else
        (void)fprintf(found->file, "%-4s", name);
    (void)fprintf(found->file, "  %-18s  %s\n", check->name, check->detail);
    if (*check->remedy)
        (void)fprintf(found->file, "%26sfix: %s\n", "", check->remedy);
    count_check(found, check);
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static void show_summary(const struct findings *found)
{
    size_t failed = found->count[HUTCH_CHECK_FAIL];
    size_t warned = found->count[HUTCH_CHECK_WARN];
    (void)fprintf(found->file, "\n%zu check%s: %zu failed, %zu warning%s.%s\n", found->total,
                  plural(found->total), failed, warned, plural(warned),
                  failed ? "" : " Sandboxes work here.");
}

static int examine(const struct doctor_request *request, struct findings *found,
                   struct hutch_error *err)
{
    bool terminal = isatty(STDOUT_FILENO) == 1;
    const char *no_colour = getenv("NO_COLOR");
    found->colour = terminal && !(no_colour && *no_colour);
    if (request->json)
        (void)fputs("{\"checks\":[", found->file);
    hutch_check_fn show = request->json ? show_json : terminal ? show_row : show_line;
    int failed = hutch_doctor(show, found, err);
    if (failed)
        return failed;
    if (request->json)
        (void)fprintf(found->file, "],\"ok\":%s}\n",
                      found->count[HUTCH_CHECK_FAIL] ? "false" : "true");
    else if (terminal)
        show_summary(found);
    return 0;
}

static int cmd_doctor(const struct cli_verb *verb, int argc, char **argv)
{
    CLI_CLEANUP(cli_text_done) struct cli_text text = {0};
    struct doctor_request request = {0};
    struct findings found = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    int status = 0;
    if (!cli_begin_alone(verb, argc, argv, &request, &status))
        return status;
    if (cli_text_open(&text, &err) < 0)
        return cli_report(&err);
    found.file = text.file;
    if (examine(&request, &found, &err) < 0 || cli_text_send(&text, &err) < 0)
        return cli_report(&err);
    return found.count[HUTCH_CHECK_FAIL] ? EXIT_FAILURE : EXIT_SUCCESS;
}

const struct cli_verb cli_verb_doctor = {
    .name = "doctor",
    .group = "This machine",
    .summary = "Say what works here, what is missing, and the command that fixes it",
    .usage = "[FLAG]...",
    .details = "Changes nothing. The exit status is 1 when a check failed, 0 otherwise:\n"
               "a warning is something hutch can do without.\n",
    .options = doctor_options,
    .option_count = CLI_COUNT(doctor_options),
    .run = cmd_doctor,
};
