/* SPDX-License-Identifier: Apache-2.0 */
/* execute and shell: a command, and how it ended.
 *
 * With one answer at the end, the command is its client's: one who goes takes it along. With a
 * stream it is recorded, and who lost the connection comes back to it by X-Hutch-Exec and the last
 * offset it has seen: GET .../exec/{exec}/attach. */
#include <signal.h>

#include "server/streams.h"

/* A command that is not there, or cannot be executed, is something the request gets as a result:
 * the sandbox did what it was asked. */
static bool is_commands_own(const struct hutch_error *err)
{
    return err->code == HUTCH_E_NO_COMMAND || err->code == HUTCH_E_NOT_EXECUTABLE;
}

static struct hutch_result never_began(const struct hutch_error *err)
{
    return (struct hutch_result){.reason = HUTCH_REASON_SETUP_FAILED,
                                 .exit_code = hutch_code_exit_status(err->code),
                                 .error = *err};
}

static void reply_result(struct api_call *call, const struct hutch_result *result)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    char *json = NULL;
    if (hutch_result_to_json(result, &json, NULL, &err) < 0)
        api_fail(call, &err);
    else
        api_reply_json_text(call, 200, json);
}

static void run(struct api_call *call, struct hutch_sandbox *sandbox, struct command *command)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_result *result = NULL;
    command->options.cancel_fd = api_gone_fd(call);
    if (hutch_sandbox_exec(sandbox, command->argc, command->argv, &command->options, &result,
                           &err) == 0) {
        reply_result(call, result);
        hutch_result_free(result);
    } else if (is_commands_own(&err)) {
        const struct hutch_result none = never_began(&err);
        reply_result(call, &none);
    } else {
        api_fail(call, &err);
    }
}

static void stream(struct api_call *call, struct hutch_sandbox *sandbox, struct command *command,
                   enum events_form form)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct events_out out;
    char id[33];
    int status =
        hutch_sandbox_spawn(sandbox, command->argc, command->argv, &command->options, id, &err);
    if (status < 0 && !is_commands_own(&err)) {
        api_fail(call, &err);
        return;
    }
    if (status == 0)
        api_add_header(call, "X-Hutch-Exec", id);
    if (events_begin(call, form, &out) < 0) { /* then nobody knows of it */
        if (status == 0)
            (void)!hutch_sandbox_signal(sandbox, id, SIGKILL, &err);
        return;
    }
    if (status == 0) {
        follow_command(&out, sandbox, id, 0);
        return;
    }
    const struct hutch_result none = never_began(&err);
    (void)events_result(&out, &none);
}

void handle_execute(struct api_call *call)
{
    server_autosandbox struct hutch_sandbox *sandbox = NULL;
    struct command command = {.input = SERVER_NO_FD};
    enum events_form form = events_form_of(call);
    if (command_read(call, &command) == 0 && command_read_input(call, &command) == 0 &&
        api_sandbox(call, &sandbox) == 0) {
        if (form == EVENTS_NONE)
            run(call, sandbox, &command);
        else
            stream(call, sandbox, &command, form);
    }
    command_done(&command);
}
