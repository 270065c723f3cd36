/* SPDX-License-Identifier: Apache-2.0 */
/* hutch exec and hutch shell: a command in a sandbox that is there already. */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/handles.h"
#include "cli/help.h"
#include "cli/operands.h"
#include "cli/outcome.h"
#include "cli/output.h"
#include "cli/piece.h"
#include "cli/signals.h"
#include "cli/terminal.h"

struct exec_request {
    bool interactive;
    bool tty;
    bool detach;
    bool json;
    const char *user;
    const char *workdir;
    const char *timeout;
    const char *attach;
    const char *from;
    const char *env; /* the last one; all of them are gathered in a second walk */
};

#define EXEC_FLAG(member) .kind = CLI_OPTION_BOOL, .offset = offsetof(struct exec_request, member)
#define EXEC_TEXT(member) .kind = CLI_OPTION_TEXT, .offset = offsetof(struct exec_request, member)

/* Flags that both verbs have. */
#define COMMON_OPTIONS                                                         \
    {.name = "user",                                                           \
     .short_name = 'u',                                                        \
     EXEC_TEXT(user),                                                          \
     .metavar = "USER[:GROUP]",                                                \
     .help = "User inside the sandbox, by number or by name."},                \
        {.name = "workdir",                                                    \
         .short_name = 'w',                                                    \
         EXEC_TEXT(workdir),                                                   \
         .metavar = "DIR",                                                     \
         .help = "Directory inside the sandbox in which the command starts."}, \
        {.name = "env",                                                        \
         .short_name = 'e',                                                    \
         EXEC_TEXT(env),                                                       \
         .metavar = "KEY=VALUE",                                               \
         .repeats = true,                                                      \
         .help = "Environment variable of the command."},                      \
    {                                                                          \
        .name = "timeout", EXEC_TEXT(timeout), .metavar = "DURATION",          \
        .help = "Time after which the command and all it started is ended."    \
    }

static const struct cli_option exec_options[] = {
    {.name = "interactive",
     .short_name = 'i',
     EXEC_FLAG(interactive),
     .help = "Give the command hutch's standard input; otherwise it reads end-of-file at once."},
    {.name = "tty", .short_name = 't', EXEC_FLAG(tty), .help = "Give the command a terminal."},
    {.name = "detach",
     .short_name = 'd',
     EXEC_FLAG(detach),
     .help = "Let it run in the background, record what it says, and print its id."},
    COMMON_OPTIONS,
    {.name = "json",
     EXEC_FLAG(json),
     .help = "Print the result as one JSON object, and nothing else, on standard output."},
    {.name = "attach",
     EXEC_TEXT(attach),
     .metavar = "ID",
     .help = "Come back to a command in the background: its output, and at last its exit status."},
    {.name = "from",
     EXEC_TEXT(from),
     .metavar = "OFFSET",
     .help = "With --attach: pass over so many bytes of its output."},
};

static const int forwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT};

/* What the caller ignores stays ignored, as 'nohup' wants it. */
static int open_forwarded(void)
{
    sigset_t set;
    (void)sigemptyset(&set);
    for (size_t i = 0; i < CLI_COUNT(forwarded); i++) {
        struct sigaction action;
        if (sigaction(forwarded[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            (void)sigaddset(&set, forwarded[i]);
    }
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int check_request(const struct exec_request *request, bool has_command,
                         struct hutch_error *err)
{
    if (request->attach && has_command)
        return cli_fail(err, HUTCH_E_INVALID,
                        "'--attach' comes back to a command; leave the new one out");
    if (!request->attach && !has_command)
        return cli_fail(
            err, HUTCH_E_INVALID,
            "no command to run; give one after the name: hutch exec NAME -- echo hello");
    if (request->from && !request->attach)
        return cli_fail(err, HUTCH_E_INVALID,
                        "'--from' passes over the output of a command that '--attach' comes back "
                        "to; a new one has none");
    if (request->detach && (request->interactive || request->json))
        return cli_fail(err, HUTCH_E_INVALID,
                        "'--detach' leaves the command alone; it goes together with neither "
                        "'--interactive' nor '--json'");
    return request->tty && !request->detach ? cli_terminal_check(request->json, err) : 0;
}

/* Every -e, in order. */
static int gather_env(const struct cli_verb *verb, int argc, char **argv, const char ***ret_env,
                      struct hutch_error *err)
{
    struct cli_options options;
    const char **env = calloc((size_t)argc + 1, sizeof(*env));
    size_t count = 0;
    if (!env)
        return cli_fail(err, HUTCH_E_NO_MEMORY, "out of memory");
    int failed = 0;
    cli_options_init(&options, verb);
    struct cli_cursor cursor = {.options = &options, .argc = argc, .argv = argv, .index = 1};
    while (!failed) {
        const struct cli_option *option = NULL;
        const char *value = NULL;
        failed = cli_cursor_next(&cursor, &option, &value, err);
        if (failed || !option)
            break;
        if (!strcmp(option->name, "env"))
            env[count++] = value;
    }
    if (failed) {
        free(env);
        return failed;
    }
    *ret_env = env;
    return 0;
}

static int finish(const struct exec_request *request, const struct hutch_result *result)
{
    CLI_CLEANUP(cli_free) char *json = NULL;
    struct hutch_error err = HUTCH_ERROR_INIT;
    size_t length = 0;
    cli_outcome_say(result);
    if (!request->json)
        return result->exit_code;
    if (hutch_result_to_json(result, &json, &length, &err) < 0)
        return cli_report_json(&err);
    return cli_line_send(json, length, &err) < 0 ? cli_report(&err) : result->exit_code;
}

static int report(const struct exec_request *request, const struct hutch_error *err)
{
    return request->json ? cli_report_json(err) : cli_report(err);
}

static int run(const struct exec_request *request, struct hutch_sandbox *sandbox,
               struct hutch_exec_options *options, size_t argc, char **argv)
{
    CLI_CLEANUP(cli_signals_close) struct cli_signals signals = CLI_SIGNALS_INIT;
    CLI_CLEANUP(cli_terminal_restore) struct cli_terminal terminal = CLI_TERMINAL_INIT;
    CLI_CLEANUP(cli_result_free) struct hutch_result *result = NULL;
    struct hutch_error err = HUTCH_ERROR_INIT;
    options->signal_fd = open_forwarded();
    if (request->tty) {
        if (cli_signals_open(&signals, &err) < 0 ||
            (request->interactive && cli_terminal_make_raw(&terminal, STDIN_FILENO, &err) < 0))
            return report(request, &err);
        options->terminal_fd = STDIN_FILENO;
        options->resize_fd = signals.resize_fd;
    }
    int failed =
        hutch_sandbox_exec(sandbox, argc, (const char *const *)argv, options, &result, &err);
    cli_terminal_restore(&terminal);
    return failed ? report(request, &err) : finish(request, result);
}

static int spawn(struct hutch_sandbox *sandbox, const struct hutch_exec_options *options,
                 size_t argc, char **argv)
{
    char id[33];
    struct hutch_error err = HUTCH_ERROR_INIT;
    if (hutch_sandbox_spawn(sandbox, argc, (const char *const *)argv, options, id, &err) < 0 ||
        cli_line_send(id, strlen(id), &err) < 0)
        return cli_report(&err);
    return 0;
}

static int attach(const struct exec_request *request, struct hutch_sandbox *sandbox)
{
    CLI_CLEANUP(cli_result_free) struct hutch_result *result = NULL;
    struct hutch_log_options options = HUTCH_LOG_OPTIONS_INIT;
    struct hutch_error err = HUTCH_ERROR_INIT;
    char *end = NULL;
    int failure = 0;
    options.exec_id = request->attach;
    options.follow = true;
    if (request->from) {
        options.offset = strtoull(request->from, &end, 10);
        if (!*request->from || *end) {
            (void)cli_fail(&err, HUTCH_E_INVALID,
                           "--from: '%.40s' is not an offset, write a number", request->from);
            return report(request, &err);
        }
    }
    if (!request->json &&
        hutch_sandbox_logs(sandbox, &options, cli_piece_write, &failure, &err) < 0) {
        if (failure)
            (void)cli_fail_errno(&err, failure, "write the output");
        return report(request, &err);
    }
    if (hutch_sandbox_wait(sandbox, request->attach, &result, &err) < 0)
        return report(request, &err);
    return finish(request, result);
}

/* 0 would mean none; as a spec's limits.timeout, it has to be a time. */
static int parse_timeout(const char *text, uint64_t *ret_ms, struct hutch_error *err)
{
    if (!text)
        return 0;
    if (hutch_duration_parse(text, ret_ms, err) < 0) {
        struct hutch_error cause = *err;
        return cli_fail(err, cause.code, "--timeout: %.440s", cause.msg);
    }
    if (!*ret_ms)
        return cli_fail(err, HUTCH_E_INVALID,
                        "--timeout: '%.40s' is too little, the least is '1ms'", text);
    return 0;
}

static int execute(const struct cli_verb *verb, int argc, char **argv,
                   const struct exec_request *request, struct hutch_sandbox *sandbox, size_t words,
                   char **command)
{
    struct hutch_exec_options options = HUTCH_EXEC_OPTIONS_INIT;
    struct hutch_error err = HUTCH_ERROR_INIT;
    const char **env = NULL;
    if (parse_timeout(request->timeout, &options.timeout_ms, &err) < 0 ||
        (request->env && gather_env(verb, argc, argv, &env, &err) < 0))
        return report(request, &err);
    options.env = env;
    options.user = request->user;
    options.workdir = request->workdir;
    options.capture = request->json;
    options.stdin_fd = request->interactive ? STDIN_FILENO : -1;
    options.stdout_fd = request->json ? -1 : STDOUT_FILENO;
    options.stderr_fd = request->json ? -1 : STDERR_FILENO;
    int status = request->detach ? spawn(sandbox, &options, words, command)
                                 : run(request, sandbox, &options, words, command);
    free(env);
    return status;
}

static int cmd_exec(const struct cli_verb *verb, int argc, char **argv)
{
    CLI_CLEANUP(cli_sandbox_free) struct hutch_sandbox *sandbox = NULL;
    struct exec_request request = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    bool help = false;
    int index = 0;
    if (cli_operands(verb, argc, argv, &request, (struct cli_count){1, CLI_ANY}, &index, &help,
                     &err) < 0)
        return report(&request, &err);
    if (help)
        return cli_help_verb(verb);
    char **command = argv + index + 1;
    if (*command && !strcmp(*command, "--"))
        command++;
    if (check_request(&request, *command != NULL, &err) < 0 ||
        hutch_sandbox_open(argv[index], &sandbox, &err) < 0)
        return report(&request, &err);
    if (request.attach)
        return attach(&request, sandbox);
    return execute(verb, argc, argv, &request, sandbox, (size_t)(argv + argc - command), command);
}

const struct cli_verb cli_verb_exec = {
    .name = "exec",
    .group = "Sandboxes",
    .summary = "Run a command in a sandbox that is there already",
    .usage = "[FLAG]... NAME [--] COMMAND [ARGUMENT]...",
    .details = "Exit status\n"
               "  as for 'hutch run'\n"
               "\n"
               "Examples\n"
               "  hutch exec work -- make test\n"
               "  hutch exec -it work -- bash\n"
               "  id=$(hutch exec -d work -- ./server); hutch exec --attach $id work\n",
    .options = exec_options,
    .option_count = CLI_COUNT(exec_options),
    .run = cmd_exec,
};

/* ---- shell ----------------------------------------------------------------------------------- */

#define ANY_SHELL "if command -v bash >/dev/null; then exec bash; else exec sh; fi"

static int cmd_shell(const struct cli_verb *verb, int argc, char **argv)
{
    CLI_CLEANUP(cli_sandbox_free) struct hutch_sandbox *sandbox = NULL;
    struct exec_request request = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    char shell[] = "sh", flag[] = "-c", any[] = ANY_SHELL;
    int index = 0, status = 0;
    if (!cli_begin(verb, argc, argv, &request, (struct cli_count){1, 2}, &index, &status))
        return status;
    const char *script = argv[index + 1];
    request.interactive = true;
    request.tty = !script && isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
    char *command[] = {shell, flag, argv[index + 1] ? argv[index + 1] : any, NULL};
    char *from_input[] = {shell, NULL};
    bool reads_script = !script && !request.tty;
    if (hutch_sandbox_open(argv[index], &sandbox, &err) < 0)
        return cli_report(&err);
    return execute(verb, argc, argv, &request, sandbox, reads_script ? 1 : 3,
                   reads_script ? from_input : command);
}

static const struct cli_option shell_options[] = {COMMON_OPTIONS};

const struct cli_verb cli_verb_shell = {
    .name = "shell",
    .group = "Sandboxes",
    .summary = "Open a shell in a sandbox, or run a script in one",
    .usage = "[FLAG]... NAME [SCRIPT]",
    .details = "Without a script and without a terminal, the script comes from standard input.\n",
    .options = shell_options,
    .option_count = CLI_COUNT(shell_options),
    .run = cmd_shell,
};
