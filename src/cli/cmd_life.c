/* SPDX-License-Identifier: Apache-2.0 */
/* hutch start, stop, kill, pause, resume and rm: one act on each of the named sandboxes. */
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/handles.h"
#include "cli/operands.h"
#include "cli/output.h"

#define DEFAULT_GRACE "10s"

struct life_request {
    bool force;
    const char *grace;
    const char *exec_id;
    const char *signal_name;
    uint64_t grace_ms;
    int signal_number;
};

typedef int (*life_fn)(void *userdata, struct hutch_sandbox *sandbox, struct hutch_error *err);

static int act(const struct cli_verb *verb, int argc, char **argv, life_fn fn,
               int (*settle)(struct life_request *, struct hutch_error *))
{
    struct life_request request = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    int index = 0, status = 0;
    if (!cli_begin(verb, argc, argv, &request, (struct cli_count){1, CLI_ANY}, &index, &status))
        return status;
    if (settle && settle(&request, &err) < 0)
        return cli_report(&err);
    return cli_each_sandbox(argc, argv, index, fn, &request);
}

static int start_one(void *userdata, struct hutch_sandbox *sandbox, struct hutch_error *err)
{
    (void)userdata;
    return hutch_sandbox_start(sandbox, err);
}

static int stop_one(void *userdata, struct hutch_sandbox *sandbox, struct hutch_error *err)
{
    const struct life_request *request = userdata;
    return hutch_sandbox_stop(sandbox, request->grace_ms, err);
}

static int kill_one(void *userdata, struct hutch_sandbox *sandbox, struct hutch_error *err)
{
    const struct life_request *request = userdata;
    if (request->exec_id)
        return hutch_sandbox_signal(sandbox, request->exec_id, request->signal_number, err);
    return hutch_sandbox_kill(sandbox, err);
}

static int pause_one(void *userdata, struct hutch_sandbox *sandbox, struct hutch_error *err)
{
    (void)userdata;
    return hutch_sandbox_pause(sandbox, err);
}

static int resume_one(void *userdata, struct hutch_sandbox *sandbox, struct hutch_error *err)
{
    (void)userdata;
    return hutch_sandbox_resume(sandbox, err);
}

static int remove_one(void *userdata, struct hutch_sandbox *sandbox, struct hutch_error *err)
{
    const struct life_request *request = userdata;
    return hutch_sandbox_remove(sandbox, request->force, err);
}

static int settle_grace(struct life_request *request, struct hutch_error *err)
{
    const char *text = request->grace ? request->grace : DEFAULT_GRACE;
    if (hutch_duration_parse(text, &request->grace_ms, err) == 0)
        return 0;
    struct hutch_error cause = *err;
    return cli_fail(err, cause.code, "--grace: %.440s", cause.msg);
}

static const struct {
    const char *name;
    int number;
} signals[] = {
    {"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT},   {"ABRT", SIGABRT}, {"KILL", SIGKILL},
    {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"ALRM", SIGALRM},   {"TERM", SIGTERM}, {"CONT", SIGCONT},
    {"STOP", SIGSTOP}, {"TSTP", SIGTSTP}, {"WINCH", SIGWINCH},
};

/* "TERM", "SIGTERM" or "15"; 0 when it is none. */
static int signal_of(const char *text)
{
    char *end;
    long number = strtol(text, &end, 10);
    if (*text && !*end)
        return number > 0 && number < 65 ? (int)number : 0;
    if (!strncmp(text, "SIG", 3))
        text += 3;
    for (size_t i = 0; i < CLI_COUNT(signals); i++)
        if (!strcmp(text, signals[i].name))
            return signals[i].number;
    return 0;
}

static int settle_signal(struct life_request *request, struct hutch_error *err)
{
    request->signal_number = signal_of(request->signal_name ? request->signal_name : "KILL");
    if (!request->signal_number)
        return cli_fail(err, HUTCH_E_INVALID,
                        "--signal: '%.40s' is not a signal, write TERM, SIGTERM or 15",
                        request->signal_name);
    if (request->signal_name && !request->exec_id)
        return cli_fail(err, HUTCH_E_INVALID,
                        "'--signal' is for one command, which '--exec ID' names; 'hutch ps' lists "
                        "them");
    return 0;
}

static int cmd_start(const struct cli_verb *verb, int argc, char **argv)
{
    return act(verb, argc, argv, start_one, NULL);
}

static int cmd_stop(const struct cli_verb *verb, int argc, char **argv)
{
    return act(verb, argc, argv, stop_one, settle_grace);
}

static int cmd_kill(const struct cli_verb *verb, int argc, char **argv)
{
    return act(verb, argc, argv, kill_one, settle_signal);
}

static int cmd_pause(const struct cli_verb *verb, int argc, char **argv)
{
    return act(verb, argc, argv, pause_one, NULL);
}

static int cmd_resume(const struct cli_verb *verb, int argc, char **argv)
{
    return act(verb, argc, argv, resume_one, NULL);
}

static int cmd_rm(const struct cli_verb *verb, int argc, char **argv)
{
    return act(verb, argc, argv, remove_one, NULL);
}

const struct cli_verb cli_verb_start = {
    .name = "start",
    .group = "Life of a sandbox",
    .summary = "Start a stopped sandbox again, with its files",
    .usage = "NAME...",
    .run = cmd_start,
};

static const struct cli_option stop_options[] = {
    {.name = "grace",
     .kind = CLI_OPTION_TEXT,
     .offset = offsetof(struct life_request, grace),
     .metavar = "DURATION",
     .default_text = DEFAULT_GRACE,
     .help = "How long its commands may take to end by themselves."},
};

const struct cli_verb cli_verb_stop = {
    .name = "stop",
    .group = "Life of a sandbox",
    .summary = "Tell everything in a sandbox to end; its files are kept",
    .usage = "[FLAG]... NAME...",
    .options = stop_options,
    .option_count = CLI_COUNT(stop_options),
    .run = cmd_stop,
};

static const struct cli_option kill_options[] = {
    {.name = "exec",
     .kind = CLI_OPTION_TEXT,
     .offset = offsetof(struct life_request, exec_id),
     .metavar = "ID",
     .help = "One command instead of the whole sandbox."},
    {.name = "signal",
     .kind = CLI_OPTION_TEXT,
     .offset = offsetof(struct life_request, signal_name),
     .metavar = "SIGNAL",
     .default_text = "KILL",
     .help = "What to send to it."},
};

const struct cli_verb cli_verb_kill = {
    .name = "kill",
    .group = "Life of a sandbox",
    .summary = "End a sandbox, or one command in it, at once",
    .usage = "[FLAG]... NAME...",
    .options = kill_options,
    .option_count = CLI_COUNT(kill_options),
    .run = cmd_kill,
};

const struct cli_verb cli_verb_pause = {
    .name = "pause",
    .group = "Life of a sandbox",
    .summary = "Freeze every process of a sandbox",
    .usage = "NAME...",
    .run = cmd_pause,
};

const struct cli_verb cli_verb_resume = {
    .name = "resume",
    .group = "Life of a sandbox",
    .summary = "Let a paused sandbox go on",
    .usage = "NAME...",
    .run = cmd_resume,
};

static const struct cli_option rm_options[] = {
    {.name = "force",
     .short_name = 'f',
     .kind = CLI_OPTION_BOOL,
     .offset = offsetof(struct life_request, force),
     .help = "Also one that runs."},
};

const struct cli_verb cli_verb_rm = {
    .name = "rm",
    .group = "Life of a sandbox",
    .summary = "Remove a sandbox and everything it holds",
    .usage = "[FLAG]... NAME...",
    .options = rm_options,
    .option_count = CLI_COUNT(rm_options),
    .run = cmd_rm,
};
