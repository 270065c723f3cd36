/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/handles.h"
#include "cli/operands.h"
#include "cli/output.h"
#include "cli/plain.h"

struct ps_request {
    bool json;
    FILE *file;
    size_t count;
};

static const struct cli_option ps_options[] = {
    {.name = "json",
     .kind = CLI_OPTION_BOOL,
     .offset = offsetof(struct ps_request, json),
     .help = "Print one JSON object."},
};

static int list_process(void *userdata, const struct hutch_process *process)
{
    struct ps_request *request = userdata;
    FILE *file = request->file;
    if (request->json) {
        (void)fprintf(file, "%s{\"id\":\"%s\",\"state\":\"%s\",\"recorded\":%s,\"age_ms\":%llu,",
                      request->count ? "," : "", process->session, process->phase,
                      process->recorded ? "true" : "false",
                      (unsigned long long)process->age_us / 1000);
        (void)fputs("\"command\":[", file);
        for (size_t i = 0; process->argv[i]; i++) {
            (void)fputs(i ? "," : "", file);
            cli_json_string(file, process->argv[i]);
        }
        (void)fputs("]}", file);
    } else {
        (void)fprintf(file, "%-18s %-8s %8.1fs ", process->session, process->phase,
                      (double)process->age_us / 1e6);
        for (size_t i = 0; process->argv[i]; i++) {
            (void)fputc(' ', file);
            cli_plain_write(file, process->argv[i]);
        }
        (void)fputc('\n', file);
    }
    request->count++;
    return 0;
}

static int list(struct hutch_sandbox *sandbox, struct ps_request *request, struct hutch_error *err)
{
    CLI_CLEANUP(cli_text_done) struct cli_text text = {0};
    if (cli_text_open(&text, err) < 0)
        return -(int)err->code;
    request->file = text.file;
    if (request->json)
        (void)fputs("{\"commands\":[", text.file);
    else
        (void)fprintf(text.file, "%-18s %-8s %9s  %s\n", "ID", "STATE", "AGE", "COMMAND");
    if (hutch_sandbox_ps(sandbox, list_process, request, err) < 0)
        return -(int)err->code;
    if (request->json)
        (void)fputs("]}\n", text.file);
    return cli_text_send(&text, err);
}

static int cmd_ps(const struct cli_verb *verb, int argc, char **argv)
{
    CLI_CLEANUP(cli_sandbox_free) struct hutch_sandbox *sandbox = NULL;
    struct ps_request request = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    int index = 0, status = 0;
    if (!cli_begin(verb, argc, argv, &request, (struct cli_count){1, 1}, &index, &status))
        return status;
    if (hutch_sandbox_open(argv[index], &sandbox, &err) < 0 || list(sandbox, &request, &err) < 0)
        return cli_report(&err);
    return 0;
}

const struct cli_verb cli_verb_ps = {
    .name = "ps",
    .group = "Sandboxes",
    .summary = "List the commands that run in a sandbox",
    .usage = "[FLAG]... NAME",
    .options = ps_options,
    .option_count = CLI_COUNT(ps_options),
    .run = cmd_ps,
};
