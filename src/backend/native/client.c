/* SPDX-License-Identifier: Apache-2.0 */
/* Asking a keeper, and running a command through it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/native/call.h"
#include "backend/native/client.h"
#include "backend/native/sandbox.h"
#include "core/isolation.h"
#include "core/result.h"
#include "core/spec.h"
#include "util/fs.h"
#include "util/own.h"

#define DEFAULT_OUTPUT_BYTES (1u << 20) /* of a keeper that does not say */
#define PATIENCE_MS 3000

int sandbox_connect(struct hutch_sandbox *sandbox, bool waits, struct hutch_error *err)
{
    struct home_record record;
    if (sandbox->socket >= 0)
        return 0;
    int socket = home_connect(&sandbox->home, waits, err);
    if (socket < 0) {
        struct hutch_error ignored = HUTCH_ERROR_INIT;
        if (socket == -HUTCH_E_CONFLICT && home_read(&sandbox->home, &record, &ignored) == 0 &&
            record.state == HOME_STARTING)
            return hutch_fail(err, HUTCH_E_CONFLICT, 0, "sandbox '%s' is still starting",
                              sandbox->home.name);
        return socket;
    }
    sandbox->socket = socket;
    sandbox->owes_answer = false;
    return 0;
}

/* The keeper of a sandbox that was stopped and started is another one. */
void sandbox_forget_stale(struct hutch_sandbox *sandbox)
{
    struct pollfd fd = {sandbox->socket, POLLIN, 0};
    if (sandbox->socket >= 0 && poll(&fd, 1, 0) == 1 && fd.revents & (POLLHUP | POLLERR))
        hutch_fd_close(&sandbox->socket);
}

int sandbox_fail_gone(const struct hutch_sandbox *sandbox, struct hutch_error *err)
{
    return hutch_fail(err, HUTCH_E_UNAVAILABLE, 0,
                      "the keeper of sandbox '%s' is gone, and what it ran with it; "
                      "'hutch inspect %s' tells what is left",
                      sandbox->home.name, sandbox->home.name);
}

/* What was asked before and not waited for. */
static int take_owed(struct hutch_sandbox *sandbox, struct hutch_error *err)
{
    struct wire_message late;
    if (!sandbox_owes(sandbox))
        return 0;
    if (wire_receive(sandbox->socket, &late, err) < 0)
        return -(int)err->code;
    wire_done(&late);
    sandbox->owes_answer = sandbox->is_silent = false;
    return 0;
}

/* Questions that a keeper answers at once, or not at all. */
static bool is_prompt(const struct wire_message *request)
{
    static const char *const verbs[] = {"stats", "sessions", "processes", "ping"};
    for (size_t i = 0; i < HUTCH_COUNT(verbs); i++)
        if (!strcmp(wire_verb(request), verbs[i]))
            return true;
    return false;
}

static int ask_promptly(struct hutch_sandbox *sandbox, const struct wire_message *request,
                        struct wire_message *ret_answer, struct hutch_error *err)
{
    if (sandbox_owes(sandbox)) { /* another connection: the answer on this one is not ours */
        hutch_fd_close(&sandbox->socket);
        sandbox->owes_answer = sandbox->is_silent = false;
        if (sandbox_connect(sandbox, true, err) < 0)
            return -(int)err->code;
    }
    struct pollfd answer = {sandbox->socket, POLLIN, 0};
    if (wire_send(sandbox->socket, request, err) < 0)
        return -(int)err->code;
    if (poll(&answer, 1, PATIENCE_MS) == 0) {
        hutch_fd_close(&sandbox->socket); /* a late answer would be taken for the next one's */
        return hutch_fail(err, HUTCH_E_SYSTEM, 0,
                          "the keeper of sandbox '%s' does not answer; try again later",
                          sandbox->home.name);
    }
    if (wire_receive(sandbox->socket, ret_answer, err) < 0)
        return -(int)err->code;
    if (wire_check(ret_answer, err) == 0)
        return 0;
    wire_done(ret_answer);
    return -(int)err->code;
}

int sandbox_ask(struct hutch_sandbox *sandbox, const struct wire_message *request,
                struct wire_message *ret_answer, struct hutch_error *err)
{
    sandbox_forget_stale(sandbox);
    if (sandbox_connect(sandbox, true, err) < 0)
        return -(int)err->code;
    int status = is_prompt(request) ? 0 : take_owed(sandbox, err);
    if (status == 0)
        status = is_prompt(request) ? ask_promptly(sandbox, request, ret_answer, err)
                                    : wire_ask(sandbox->socket, request, ret_answer, err);
    if (status == -HUTCH_E_UNAVAILABLE) {
        hutch_fd_close(&sandbox->socket);
        (void)sandbox_fail_gone(sandbox, err);
    }
    return status;
}

int client_simple(struct hutch_sandbox *sandbox, const char *verb, struct hutch_error *err)
{
    struct wire_message request = WIRE_MESSAGE_INIT, answer;
    wire_begin(&request, verb);
    int status = sandbox_ask(sandbox, &request, &answer, err);
    hutch_buf_done(&request.text);
    if (status == 0)
        wire_done(&answer);
    return status;
}

int sandbox_spec(const struct hutch_sandbox *sandbox, struct hutch_spec **ret_spec,
                 struct hutch_error *err)
{
    return home_parse_spec(&sandbox->home, ret_spec, err);
}

/* ---- results --------------------------------------------------------------------------------- */

static enum hutch_reason reason_named(const char *name)
{
    for (int i = 0; i < HUTCH_REASON_COUNT; i++)
        if (name && !strcmp(name, hutch_reason_name((enum hutch_reason)i)))
            return (enum hutch_reason)i;
    return HUTCH_REASON_SANDBOX_DIED;
}

int sandbox_result(const struct wire_message *message, struct hutch_result **ret_result,
                   struct hutch_error *err)
{
    struct hutch_result_owned *owned = hutch_result_new();
    if (!owned)
        return hutch_fail_nomem(err);
    struct hutch_result *result = &owned->result;
    const char *id = wire_get(message, "id");
    (void)snprintf(result->id, sizeof(result->id), "%s", id ? id : "");
    result->reason = reason_named(wire_get(message, "reason"));
    result->exit_code = (int)wire_number(message, "exit_code", 125);
    result->signal = (int)wire_number(message, "signal", 0);
    result->ok = result->reason == HUTCH_REASON_EXITED && result->exit_code == 0;
    result->held_pipes = wire_number(message, "held_pipes", 0);
    result->duration_us = wire_number(message, "duration_us", 0);
    result->usage.cpu_us = wire_number(message, "cpu_us", 0);
    result->usage.pids_peak = wire_number(message, "pids_peak", 0);
    result->usage.has_pids_peak = result->usage.pids_peak > 0;
    result->usage.memory_peak_bytes = wire_number(message, "memory_peak_bytes", 0);
    result->usage.has_memory_peak = result->usage.memory_peak_bytes > 0;
    result->usage.oom_kills = wire_number(message, "oom_kills", 0);
    result->usage.disk_peak_bytes = wire_number(message, "disk_peak_bytes", 0);
    result->backend = hutch_backend_name(wire_get(message, "backend"));
    result->isolation_level = hutch_level_name(wire_get(message, "level"));
    result->writable_layer = wire_number(message, "on_disk", 0) ? "disk" : "memory";
    hutch_result_set_missing(owned, (hutch_promise_set)wire_number(message, "missing", 0));
    *ret_result = result;
    return 0;
}

/* ---- running a command ----------------------------------------------------------------------- */

static void describe(struct wire_message *request, size_t argc, const char *const *argv,
                     const struct hutch_exec_options *options, bool record)
{
    wire_begin(request, "exec");
    for (size_t i = 0; i < argc; i++)
        wire_add(request, "arg", argv[i]);
    for (const char *const *pair = options->env; pair && *pair; pair++)
        wire_add(request, "env", *pair);
    wire_add(request, "user", options->user);
    wire_add(request, "workdir", options->workdir);
    if (options->timeout_ms)
        wire_add_number(request, "timeout_ms", options->timeout_ms);
    if (record)
        wire_add_number(request, "record", 1);
    if (options->terminal_fd >= 0 || options->rows) {
        struct winsize size = {.ws_row = 24, .ws_col = 80};
        if (options->rows)
            size = (struct winsize){.ws_row = options->rows, .ws_col = options->columns};
        else
            (void)ioctl(options->terminal_fd, TIOCGWINSZ, &size);
        wire_add_number(request, "terminal", 1);
        wire_add_number(request, "rows", size.ws_row);
        wire_add_number(request, "columns", size.ws_col);
    }
}

static int ask_exec(struct call *call, size_t argc, const char *const *argv,
                    struct wire_message *ret_answer, struct hutch_error *err)
{
    struct wire_message request = WIRE_MESSAGE_INIT;
    int fds[3] = {HUTCH_NO_FD, HUTCH_NO_FD, HUTCH_NO_FD};
    bool owned[3] = {false, false, false};
    int status = 0;
    describe(&request, argc, argv, call->options, false);
    if (call->relays)
        wire_add_number(&request, "relays", 1);
    if (call->options->terminal_fd < 0) {
        status = call_choose_stdio(call, fds, owned, err);
        for (size_t i = 0; i < 3; i++)
            wire_add_fd(&request, fds[i]);
    }
    if (status == 0)
        status = sandbox_ask(call->sandbox, &request, ret_answer, err);
    for (size_t i = 0; i < 3; i++)
        if (owned[i])
            hutch_fd_close(&fds[i]);
    hutch_buf_done(&request.text);
    return status;
}

/* Again, with pipes of our own in between, where the keeper wants it so. */
static int ask_again(struct call *call, size_t argc, const char *const *argv,
                     struct wire_message *answer, struct hutch_error *err)
{
    wire_done(answer);
    call->relays = true;
    for (size_t i = 0; i < 2; i++)
        hutch_fd_close(&call->outputs[i]);
    hutch_fd_close(&call->feed.target);
    free(HUTCH_TAKE_PTR(call->feed.buffer));
    return ask_exec(call, argc, argv, answer, err);
}

static int begin(struct call *call, size_t argc, const char *const *argv, struct hutch_error *err)
{
    struct wire_message answer;
    int status = ask_exec(call, argc, argv, &answer, err);
    if (status == 0 && !strcmp(wire_verb(&answer), "relay"))
        status = ask_again(call, argc, argv, &answer, err);
    if (status < 0)
        return status;
    (void)snprintf(call->id, sizeof(call->id), "%s", wire_get(&answer, "id"));
    bool has_terminal = call->options->terminal_fd >= 0;
    call->master = has_terminal ? wire_take_fd(&answer, 0) : HUTCH_NO_FD;
    if (call->relays) {
        hutch_autofd int values = wire_take_fd(&answer, has_terminal ? 1 : 0);
        status = call_take_secrets(call, values, err);
    }
    uint64_t limit = wire_number(&answer, "output_bytes", DEFAULT_OUTPUT_BYTES);
    size_t budget = call->options->capture ? (size_t)limit : 0;
    for (size_t i = 0; i < 3; i++)
        capture_start(&call->captures[i], budget);
    wire_done(&answer);
    return status == 0 && call->master >= 0 ? call_feed_terminal(call, err) : status;
}

static int send_signal(const struct call *call, int number, struct hutch_error *err)
{
    struct wire_message request = WIRE_MESSAGE_INIT;
    wire_begin(&request, "signal");
    wire_add(&request, "id", call->id);
    wire_add_number(&request, "signal", (uint64_t)number);
    wire_add_number(&request, "quiet", 1);
    int status = wire_send(call->sandbox->socket, &request, err);
    hutch_buf_done(&request.text);
    return status;
}

static void resize(const struct call *call)
{
    char drained[1024];
    struct winsize size;
    (void)!read(call->options->resize_fd, drained, sizeof(drained));
    if (call->master >= 0 && ioctl(call->options->terminal_fd, TIOCGWINSZ, &size) == 0)
        (void)ioctl(call->master, TIOCSWINSZ, &size);
}

static int forward_signal(const struct call *call, struct hutch_error *err)
{
    struct signalfd_siginfo info;
    if (read(call->options->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
        return 0;
    return send_signal(call, (int)info.ssi_signo, err);
}

enum watched {
    W_SOCKET,
    W_OUT,
    W_ERR,
    W_MASTER,
    W_INPUT,
    W_ROOM,
    W_CANCEL,
    W_RESIZE,
    W_SIGNAL,
    W_COUNT
};

static void choose_watched(const struct call *call, struct pollfd *fds)
{
    const struct hutch_exec_options *options = call->options;
    const int numbers[W_COUNT] = {
        [W_SOCKET] = call->has_ended ? -1 : call->sandbox->socket,
        [W_OUT] = call->outputs[0],
        [W_ERR] = call->outputs[1],
        [W_MASTER] = call->master,
        [W_INPUT] = feed_wants_input(&call->feed) ? call->feed.source : -1,
        [W_ROOM] = call->feed.length ? call->feed.target : -1,
        [W_CANCEL] = call->cancelled ? -1 : options->cancel_fd,
        [W_RESIZE] = call->master >= 0 ? options->resize_fd : -1,
        [W_SIGNAL] = options->signal_fd,
    };
    for (size_t i = 0; i < W_COUNT; i++)
        fds[i] = (struct pollfd){numbers[i], i == W_ROOM ? POLLOUT : POLLIN, 0};
}

static int hear(struct call *call, struct hutch_error *err)
{
    int status = wire_receive(call->sandbox->socket, &call->end, err);
    if (status < 0) {
        hutch_fd_close(&call->sandbox->socket);
        return hutch_fail(err, HUTCH_E_UNAVAILABLE, 0,
                          "the keeper of sandbox '%s' is gone, and the command with it",
                          call->sandbox->home.name);
    }
    call->has_ended = !strcmp(wire_verb(&call->end), "exited");
    if (!call->has_ended) {
        status = wire_check(&call->end, err);
        wire_done(&call->end);
    }
    return status;
}

static int serve(struct call *call, const struct pollfd *fds, struct hutch_error *err)
{
    for (size_t i = 0; i < 2; i++)
        if (fds[W_OUT + i].revents)
            (void)call_take_output(call, &call->outputs[i], i, err);
    if (fds[W_MASTER].revents)
        (void)call_take_output(call, &call->master, 0, err);
    if (fds[W_RESIZE].revents) /* what is typed after it finds the window as it is */
        resize(call);
    if (fds[W_INPUT].revents || fds[W_ROOM].revents)
        feed_pump(&call->feed);
    if (fds[W_SIGNAL].revents && forward_signal(call, err) < 0)
        return -(int)err->code;
    if (fds[W_CANCEL].revents) {
        call->cancelled = true;
        if (send_signal(call, SIGKILL, err) < 0)
            return -(int)err->code;
    }
    return fds[W_SOCKET].revents ? hear(call, err) : 0;
}

static int conclude(struct call *call, bool held, struct hutch_result **ret_result,
                    struct hutch_error *err)
{
    struct hutch_result *result = NULL;
    if (call_check(call, err) < 0)
        return -(int)err->code;
    if (sandbox_result(&call->end, &result, err) < 0 || !result)
        return -(int)err->code;
    struct hutch_result_owned *owned = (struct hutch_result_owned *)result;
    struct hutch_output *outputs[3] = {&result->out, &result->err, &result->both};
    result->held_pipes |= held;
    if (call->cancelled)
        result->reason = HUTCH_REASON_CANCELLED;
    result->ok &= !call->cancelled;
    for (size_t i = 0; i < 3; i++)
        if (capture_finish(&call->captures[i], outputs[i], &owned->data[i], err) < 0) {
            hutch_result_free(result);
            return -(int)err->code;
        }
    *ret_result = result;
    return 0;
}

static int run(struct call *call, struct hutch_error *err)
{
    while (!call->has_ended) {
        struct pollfd fds[W_COUNT];
        choose_watched(call, fds);
        if (poll(fds, W_COUNT, -1) < 0) {
            if (errno == EINTR)
                continue;
            return hutch_fail_errno(err, errno, "wait for the command");
        }
        if (serve(call, fds, err) < 0)
            return -(int)err->code;
    }
    return 0;
}

int client_exec(struct hutch_sandbox *sandbox, size_t argc, const char *const *argv,
                const struct hutch_exec_options *options, struct hutch_result **ret_result,
                struct hutch_error *err)
{
    struct call call = {.sandbox = sandbox,
                        .options = options,
                        .master = HUTCH_NO_FD,
                        .outputs = {HUTCH_NO_FD, HUTCH_NO_FD},
                        .feed = {.source = HUTCH_NO_FD, .target = HUTCH_NO_FD}};
    int status = begin(&call, argc, argv, err);
    if (status == 0)
        status = run(&call, err);
    if (status == 0)
        status = conclude(&call, call_drain(&call, err), ret_result, err);
    else
        hutch_fd_close(&sandbox->socket); /* then nothing of it runs on */
    for (size_t i = 0; i < 3; i++)
        capture_done(&call.captures[i]);
    hutch_fd_close(&call.outputs[0]);
    hutch_fd_close(&call.outputs[1]);
    hutch_fd_close(&call.master);
    hutch_fd_close(&call.feed.target);
    free(call.feed.buffer);
    redactor_done(&call.redactors[0]);
    redactor_done(&call.redactors[1]);
    shared_secrets_done(&call.secrets);
    if (call.has_ended)
        wire_done(&call.end);
    return status;
}

int client_spawn(struct hutch_sandbox *sandbox, size_t argc, const char *const *argv,
                 const struct hutch_exec_options *options, char *ret_id, struct hutch_error *err)
{
    struct wire_message request = WIRE_MESSAGE_INIT, answer;
    struct stat info;
    bool is_pipe =
        options->stdin_fd >= 0 && fstat(options->stdin_fd, &info) == 0 && S_ISFIFO(info.st_mode);
    if (options->stdin_fd >= 0 && (!is_pipe || options->rows || options->keeps_stdin))
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "a recorded command reads from a pipe of the caller's, from a terminal "
                          "or from what it is sent later: from one of them");
    describe(&request, argc, argv, options, true);
    if (options->keeps_stdin)
        wire_add_number(&request, "keeps_stdin", 1);
    if (is_pipe)
        wire_add_fd(&request, options->stdin_fd);
    int status = sandbox_ask(sandbox, &request, &answer, err);
    hutch_buf_done(&request.text);
    if (status < 0)
        return status;
    (void)snprintf(ret_id, 33, "%s", wire_get(&answer, "id"));
    wire_done(&answer);
    return 0;
}
