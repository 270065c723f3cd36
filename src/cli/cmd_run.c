/* SPDX-License-Identifier: Apache-2.0 */
/* hutch run: flags and a document become a spec, the spec is run, and the result becomes an exit
 * status. The flags are walked twice, because they win over a document wherever --spec stands among
 * them: first for what is this verb's own, then, with the document read, for the spec's fields. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/dry_run.h"
#include "cli/handles.h"
#include "cli/help.h"
#include "cli/outcome.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "cli/spec_flags.h"
#include "cli/terminal.h"
#include "hutch/hutch.h"

struct run_request {
    bool interactive;
    bool tty;
    bool json;
    bool stream;
    bool dry_run;
    struct cli_spec_sources sources;
    char **command; /* NULL-terminated, into argv; empty when only the document has one */
};

#define RUN_FLAG(member) .kind = CLI_OPTION_BOOL, .offset = offsetof(struct run_request, member)

static const struct cli_option run_options[] = {
    CLI_NAMED_OPTIONS(struct run_request, sources.named),
    {.name = "spec",
     .kind = CLI_OPTION_TEXT,
     .offset = offsetof(struct run_request, sources.path),
     .metavar = "FILE",
     .help = "Read the spec from a JSON or YAML document, '-' for standard input; flags win over "
             "it."},
    CLI_POLICY_OPTION(struct run_request, sources.policy),
    {.name = "interactive",
     .short_name = 'i',
     RUN_FLAG(interactive),
     .help = "Give the command hutch's standard input; otherwise it reads end-of-file at once."},
    {.name = "tty",
     .short_name = 't',
     RUN_FLAG(tty),
     .help = "Give the command a terminal of its own; with -i, keys go straight to it."},
    {.name = "json",
     RUN_FLAG(json),
     .help = "Print the result as one JSON object, and nothing else, on standard output."},
    {.name = "stream",
     RUN_FLAG(stream),
     .help = "With --json: copy the command's output to standard error while it runs."},
    {.name = "dry-run",
     RUN_FLAG(dry_run),
     .help =
         "Check everything, print what the spec becomes under the policy as JSON, run nothing."},
};

static void request_done(struct run_request *request)
{
    cli_named_done(&request->sources.named);
}

static int check_request(const struct run_request *request, struct hutch_error *err)
{
    bool spec_on_stdin = request->sources.path && !strcmp(request->sources.path, "-");
    if (spec_on_stdin && request->interactive)
        return cli_fail(err, HUTCH_E_INVALID,
                        "'--spec -' and '--interactive' both read standard input; put the spec "
                        "into a file");
    return request->tty && !request->dry_run ? cli_terminal_check(request->json, err) : 0;
}

/* Everything up to a spec that may be run. */
static int prepare(const struct cli_verb *verb, int argc, char **argv, struct run_request *request,
                   struct hutch_spec **ret_spec, bool *ret_help, struct hutch_error *err)
{
    struct cli_options options;
    int index = 1;
    cli_options_init(&options, verb);
    int failed = cli_options_parse(&options, argc, argv, &index, request, ret_help, err);
    if (failed || *ret_help)
        return failed;
    request->command = argv + index;
    request->sources.named.no_build = request->dry_run;
    failed = check_request(request, err);
    return failed ? failed
                  : cli_spec_build(&options, argc, argv, &request->sources, request->command,
                                   ret_spec, err);
}

static struct hutch_run_options run_options_of(const struct run_request *request,
                                               const struct cli_signals *signals)
{
    struct hutch_run_options options = HUTCH_RUN_OPTIONS_INIT;
    options.cancel_fd = signals->cancel_fd;
    options.capture = options.usage = request->json; /* nobody else would see them */
    if (request->interactive)
        options.stdin_fd = STDIN_FILENO;
    if (!request->json) {
        options.stdout_fd = STDOUT_FILENO;
        options.stderr_fd = STDERR_FILENO;
    } else if (request->stream) {
        options.stdout_fd = STDERR_FILENO;
        options.stderr_fd = STDERR_FILENO;
    }
    if (request->tty) {
        options.terminal_fd = STDIN_FILENO;
        options.resize_fd = signals->resize_fd;
    }
    return options;
}

/* The terminal is itself again before anything is said about the result. NULL on failure. */
static struct hutch_result *run_spec(const struct run_request *request,
                                     const struct hutch_spec *spec, struct hutch_error *err)
{
    CLI_CLEANUP(cli_signals_close) struct cli_signals signals = CLI_SIGNALS_INIT;
    CLI_CLEANUP(cli_terminal_restore) struct cli_terminal terminal = CLI_TERMINAL_INIT;
    struct hutch_result *result = NULL;
    if (cli_signals_open(&signals, err) < 0)
        return NULL;
    if (request->tty && request->interactive &&
        cli_terminal_make_raw(&terminal, STDIN_FILENO, err) < 0)
        return NULL;
    struct hutch_run_options options = run_options_of(request, &signals);
    if (hutch_run(spec, &options, &result, err) < 0)
        return NULL;
    int number = result->reason == HUTCH_REASON_CANCELLED ? cli_signals_read(&signals) : 0;
    if (number) { /* as a shell reports it: the signal that ended hutch, not the one that ended the
                     sandbox */
        result->signal = number;
        result->exit_code = 128 + number;
    }
    return result;
}

static int report(bool json, const struct hutch_error *err)
{
    return json ? cli_report_json(err) : cli_report(err);
}

static int execute(const struct run_request *request, const struct hutch_spec *spec)
{
    CLI_CLEANUP(cli_free) char *json = NULL;
    size_t length = 0;
    struct hutch_error err = HUTCH_ERROR_INIT;
    CLI_CLEANUP(cli_result_free) struct hutch_result *result = run_spec(request, spec, &err);
    if (!result)
        return report(request->json, &err);
    cli_outcome_say(result);
    if (!request->json)
        return result->exit_code;
    if (hutch_result_to_json(result, &json, &length, &err) < 0)
        return cli_report_json(&err);
    return cli_line_send(json, length, &err) < 0 ? cli_report(&err) : result->exit_code;
}

/* When the flags themselves are wrong, --json may not have been reached yet. */
static bool asks_for_json(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (!strcmp(argv[i], "--json"))
            return true;
    return false;
}

static int cmd_run(const struct cli_verb *verb, int argc, char **argv)
{
    CLI_CLEANUP(cli_spec_free) struct hutch_spec *spec = NULL;
    CLI_CLEANUP(request_done) struct run_request request = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    bool help = false;
    if (prepare(verb, argc, argv, &request, &spec, &help, &err) < 0)
        return report(request.json || asks_for_json(argc, argv), &err);
    if (help)
        return cli_help_verb(verb);
    return request.dry_run ? cli_dry_run(spec, HUTCH_USE_RUN, request.json)
                           : execute(&request, spec);
}

const struct cli_verb cli_verb_run = {
    .name = "run",
    .group = "Sandboxes",
    .summary = "Run a command in a new sandbox and leave nothing behind",
    .usage = "[FLAG]... [--] [COMMAND [ARGUMENT]...]",
    .details = "Sizes are written 512m or 1g, durations 500ms, 30s or 5m.\n"
               "\n"
               "Exit status\n"
               "  the command's own, or 128+N when signal N ended it; 124 after a timeout,\n"
               "  125 when hutch itself failed, 126 when the command cannot be executed,\n"
               "  127 when it is not there\n"
               "\n"
               "Examples\n"
               "  hutch run -- python3 -c 'print(6*7)'\n"
               "  hutch run --workspace .:ro --memory 1g --timeout 60s -- make test\n"
               "  hutch run --json -e MODE=fast -- ./job.sh | jq .reason\n"
               "  hutch run -it -- bash\n"
               "  hutch run --image python:3.11-slim -- python -V\n",
    .options = run_options,
    .option_count = CLI_COUNT(run_options),
    .fields = HUTCH_USE_RUN,
    .run = cmd_run,
};
