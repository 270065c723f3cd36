/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/handles.h"
#include "cli/operands.h"
#include "cli/output.h"
#include "cli/piece.h"
#include "cli/signals.h"

struct logs_request {
    bool follow;
    const char *exec_id;
    const char *tail;
    const char *since;
    const char *stream;
    const char *from;
};

#define LOGS_TEXT(member) .kind = CLI_OPTION_TEXT, .offset = offsetof(struct logs_request, member)

static const struct cli_option logs_options[] = {
    {.name = "follow",
     .short_name = 'f',
     .kind = CLI_OPTION_BOOL,
     .offset = offsetof(struct logs_request, follow),
     .help = "Go on until the command has ended."},
    {.name = "tail", LOGS_TEXT(tail), .metavar = "COUNT", .help = "Only the last lines."},
    {.name = "since",
     LOGS_TEXT(since),
     .metavar = "DURATION",
     .help = "Only what was said in the last so much time."},
    {.name = "from",
     LOGS_TEXT(from),
     .metavar = "OFFSET",
     .help = "Pass over so many bytes of output."},
    {.name = "stream",
     LOGS_TEXT(stream),
     .metavar = "stdout|stderr",
     .help = "Only this one of the two."},
    {.name = "exec",
     LOGS_TEXT(exec_id),
     .metavar = "ID",
     .help = "Of a command that 'hutch exec -d' started, instead of the sandbox's own."},
};

static int read_count(const char *flag, const char *text, uint64_t *ret_value,
                      struct hutch_error *err)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno)
        return cli_fail(err, HUTCH_E_INVALID, "--%s: '%.40s' is not a number", flag, text);
    *ret_value = value;
    return 0;
}

static int read_since(const char *text, uint64_t *ret_us, struct hutch_error *err)
{
    struct timespec now;
    uint64_t ago_ms = 0;
    if (hutch_duration_parse(text, &ago_ms, err) < 0) {
        struct hutch_error cause = *err;
        return cli_fail(err, cause.code, "--since: %.440s", cause.msg);
    }
    (void)clock_gettime(CLOCK_REALTIME, &now);
    uint64_t now_us = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
    *ret_us = ago_ms * 1000 < now_us ? now_us - ago_ms * 1000 : 1;
    return 0;
}

static int settle(const struct logs_request *request, struct hutch_log_options *options,
                  struct hutch_error *err)
{
    options->exec_id = request->exec_id;
    options->follow = request->follow;
    if (request->stream && strcmp(request->stream, "stdout") != 0 &&
        strcmp(request->stream, "stderr") != 0)
        return cli_fail(err, HUTCH_E_INVALID,
                        "--stream: '%.40s' is none of the two, write stdout or stderr",
                        request->stream);
    if (request->stream)
        options->streams = strcmp(request->stream, "stdout") ? 2 : 1;
    if ((request->tail && read_count("tail", request->tail, &options->tail, err) < 0) ||
        (request->from && read_count("from", request->from, &options->offset, err) < 0) ||
        (request->since && read_since(request->since, &options->since_us, err) < 0))
        return -(int)err->code;
    return 0;
}

static int show(struct hutch_sandbox *sandbox, struct hutch_log_options *options,
                struct hutch_error *err)
{
    CLI_CLEANUP(cli_signals_close) struct cli_signals signals = CLI_SIGNALS_INIT;
    int failure = 0;
    if (options->follow && cli_signals_open(&signals, err) < 0)
        return -(int)err->code;
    options->cancel_fd = signals.cancel_fd;
    int status = hutch_sandbox_logs(sandbox, options, cli_piece_write, &failure, err);
    if (failure == EPIPE)
        return 0; /* the reader has seen enough */
    return failure ? cli_fail_errno(err, failure, "write the output") : status;
}

static int cmd_logs(const struct cli_verb *verb, int argc, char **argv)
{
    CLI_CLEANUP(cli_sandbox_free) struct hutch_sandbox *sandbox = NULL;
    struct hutch_log_options options = HUTCH_LOG_OPTIONS_INIT;
    struct logs_request request = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    int index = 0, status = 0;
    if (!cli_begin(verb, argc, argv, &request, (struct cli_count){1, 1}, &index, &status))
        return status;
    if (settle(&request, &options, &err) < 0 ||
        hutch_sandbox_open(argv[index], &sandbox, &err) < 0 || show(sandbox, &options, &err) < 0)
        return cli_report(&err);
    return 0;
}

const struct cli_verb cli_verb_logs = {
    .name = "logs",
    .group = "Sandboxes",
    .summary = "Show what a sandbox's command has said",
    .usage = "[FLAG]... NAME",
    .options = logs_options,
    .option_count = CLI_COUNT(logs_options),
    .run = cmd_logs,
};
