/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: commands that go on by themselves. The daemon keeps nothing of them; a sandbox's keeper
 * has the command and its input, the sandbox's home has its log and how it ended. So they are there
 * after the daemon was killed as they were before. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "server/json_list.h"
#include "server/streams.h"

#define INPUT_BYTES ((size_t)64 << 10)
#define USUAL_ROWS 24
#define USUAL_COLS 80

/* ---- starting -------------------------------------------------------------------------------- */

static bool is_size(uint64_t rows, uint64_t cols)
{
    return rows && cols && rows <= UINT16_MAX && cols <= UINT16_MAX;
}

static int read_terminal(struct api_call *call, struct hutch_exec_options *options)
{
    bool tty = api_body_flag(call, "tty", false);
    uint64_t rows = api_body_number(call, "rows", USUAL_ROWS);
    uint64_t cols = api_body_number(call, "cols", USUAL_COLS);
    bool has_size =
        json_object_get(api_body(call), "rows") || json_object_get(api_body(call), "cols");
    if (has_size && !tty) {
        api_problem(call, 400, "invalid", "rows, cols: only a terminal has them; set tty too");
        return -1;
    }
    if (!is_size(rows, cols)) {
        api_problem(call, 400, "invalid", "rows, cols: write numbers from 1 to 65535");
        return -1;
    }
    options->rows = tty ? (uint16_t)rows : 0;
    options->columns = tty ? (uint16_t)cols : 0;
    options->keeps_stdin = !tty && api_body_flag(call, "stdin", false);
    return 0;
}

/* ---- telling --------------------------------------------------------------------------------- */

static int keep_session(void *userdata, const struct hutch_session *session)
{
    *(json_t **)userdata = session_json(session);
    return 0;
}

static void reply_session(struct api_call *call, struct hutch_sandbox *sandbox, const char *id,
                          int status)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    json_t *session = NULL;
    if (hutch_sandbox_sessions(sandbox, id, keep_session, &session, &err) < 0)
        api_fail(call, &err);
    else if (!session)
        api_problem(call, 503, "no_memory", "out of memory");
    else
        api_reply(call, status, session);
}

static int list_session(void *userdata, const struct hutch_session *session)
{
    return json_list_add(userdata, session_json(session));
}

void handle_session_start(struct api_call *call)
{
    server_autosandbox struct hutch_sandbox *sandbox = NULL;
    struct command command = {.input = SERVER_NO_FD};
    struct hutch_error err = HUTCH_ERROR_INIT;
    char id[33];
    if (command_read(call, &command) == 0 && read_terminal(call, &command.options) == 0 &&
        api_sandbox(call, &sandbox) == 0) {
        if (hutch_sandbox_spawn(sandbox, command.argc, command.argv, &command.options, id, &err) <
            0)
            api_fail(call, &err);
        else
            reply_session(call, sandbox, id, 201);
    }
    command_done(&command);
}

void handle_session_list(struct api_call *call)
{
    server_autosandbox struct hutch_sandbox *sandbox = NULL;
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct json_list list = {.call = call, .key = "sessions"};
    if (api_sandbox(call, &sandbox) < 0)
        return;
    int status = hutch_sandbox_sessions(sandbox, NULL, list_session, &list, &err);
    json_list_end(&list, status, &err, api_fail);
}

void handle_session_get(struct api_call *call)
{
    server_autosandbox struct hutch_sandbox *sandbox = NULL;
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_result *result = NULL;
    const char *id = api_param(call, "exec");
    if (api_sandbox(call, &sandbox) < 0 || session_check(call, sandbox, id) < 0)
        return;
    if (api_query_flag(call, "wait") &&
        hutch_sandbox_wait_or_cancel(sandbox, id, api_gone_fd(call), &result, &err) < 0 &&
        err.code != HUTCH_E_NOT_FOUND) { /* then nobody knows more than is told below */
        api_fail(call, &err);
        return;
    }
    hutch_result_free(result);
    reply_session(call, sandbox, id, 200);
}

void handle_session_attach(struct api_call *call)
{
    server_autosandbox struct hutch_sandbox *sandbox = NULL;
    enum events_form form = events_form_of(call);
    const char *id = api_param(call, "exec");
    struct events_out out;
    uint64_t offset = 0;
    if (follow_start(call, &offset) < 0 || api_sandbox(call, &sandbox) < 0 ||
        session_check(call, sandbox, id) < 0 ||
        events_begin(call, form == EVENTS_NONE ? EVENTS_SSE : form, &out) < 0)
        return;
    follow_command(&out, sandbox, id, offset);
}

/* ---- acting ---------------------------------------------------------------------------------- */

/* As it comes: what a command does not read waits with its client. */
static int pass_input(struct api_call *call, struct hutch_sandbox *sandbox, const char *id,
                      struct hutch_error *err)
{
    server_autofree char *data = malloc(INPUT_BYTES);
    int fd = api_body_fd(call);
    ssize_t got = 0;
    if (!data)
        return server_fail_nomem(err);
    while (fd >= 0 && ((got = read(fd, data, INPUT_BYTES)) > 0 || (got < 0 && errno == EINTR)))
        if (got > 0 &&
            hutch_sandbox_input(sandbox, id, data, (size_t)got, api_gone_fd(call), err) < 0)
            return -(int)err->code;
    return 0;
}

void handle_session_stdin(struct api_call *call)
{
    server_autosandbox struct hutch_sandbox *sandbox = NULL;
    struct hutch_error err = HUTCH_ERROR_INIT;
    const char *id = api_param(call, "exec");
    if (api_sandbox(call, &sandbox) < 0)
        return;
    int status = pass_input(call, sandbox, id, &err);
    bool is_whole = api_body_fd(call) < 0 || api_body_is_whole(call);
    if (status == 0 && is_whole && api_query_flag(call, "close"))
        status = hutch_sandbox_end_input(sandbox, id, &err);
    if (status < 0)
        session_fail(call, sandbox, id, &err);
    else
        api_reply(call, 204, NULL);
}

void handle_session_resize(struct api_call *call)
{
    server_autosandbox struct hutch_sandbox *sandbox = NULL;
    struct hutch_error err = HUTCH_ERROR_INIT;
    const char *id = api_param(call, "exec");
    uint64_t rows = api_body_number(call, "rows", 0), cols = api_body_number(call, "cols", 0);
    if (!is_size(rows, cols)) {
        api_problem(call, 400, "invalid", "rows, cols: write numbers from 1 to 65535");
        return;
    }
    if (api_sandbox(call, &sandbox) < 0)
        return;
    if (hutch_sandbox_resize(sandbox, id, (uint16_t)rows, (uint16_t)cols, &err) < 0)
        session_fail(call, sandbox, id, &err);
    else
        api_reply(call, 204, NULL);
}

void handle_session_signal(struct api_call *call)
{
    server_autosandbox struct hutch_sandbox *sandbox = NULL;
    struct hutch_error err = HUTCH_ERROR_INIT;
    const char *id = api_param(call, "exec");
    int number = signal_number(json_object_get(api_body(call), "signal"));
    if (!number) {
        api_problem(call, 400, "invalid", "signal: write a name such as \"INT\", or its number");
        return;
    }
    if (api_sandbox(call, &sandbox) < 0)
        return;
    if (hutch_sandbox_signal(sandbox, id, number, &err) < 0)
        session_fail(call, sandbox, id, &err);
    else
        api_reply(call, 204, NULL);
}
