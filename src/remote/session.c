/* SPDX-License-Identifier: Apache-2.0 */
#include "remote/session.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "core/spec.h"
#include "remote/capture.h"
#include "remote/client.h"
#include "remote/result_in.h"
#include "remote/websocket.h"
#include "util/own.h"

enum { STDIN_BYTES = 32 << 10, HEAD_BYTES = 9 };

struct session {
    const struct remote_exec *exec;
    char id[33];
    struct remote_websocket *socket;
    struct remote_output output;
    bool reads_stdin; /* its end has not come yet */
    bool is_cancelled;
    json_t *result;
    struct hutch_error complaint; /* what the daemon has said last; nothing when all went on */
    uint64_t lost_bytes;          /* of output */
    unsigned tries;               /* since something came */
};

/* ---- beginning ------------------------------------------------------------------------------- */

static bool terminal_size(int fd, struct winsize *size)
{
    return fd >= 0 && ioctl(fd, TIOCGWINSZ, size) == 0 && size->ws_row && size->ws_col;
}

static json_t *env_of(const char *const *env)
{
    json_t *object = json_object();
    for (; env && *env; env++) {
        const char *equals = strchr(*env, '=');
        char *key = equals ? strndup(*env, (size_t)(equals - *env)) : strdup(*env);
        /* without a value it is the caller's own, as a variable of a command here would be */
        const char *value = equals ? equals + 1 : getenv(*env);
        if (key && value)
            (void)json_object_set_new(object, key, json_string(value));
        free(key);
    }
    return object;
}

static json_t *words_of(size_t argc, const char *const *argv)
{
    json_t *words = json_array();
    for (size_t i = 0; i < argc; i++)
        if (json_array_append_new(words, json_string(argv[i])) < 0) {
            json_decref(words);
            return NULL;
        }
    return words;
}

static json_t *body_of(const struct remote_exec *exec, bool is_detached)
{
    const struct hutch_exec_options *options = exec->options;
    json_t *words = words_of(exec->argc, exec->argv);
    struct winsize size = {0};
    char timeout[32];
    if (!words)
        return NULL;
    json_t *body =
        json_pack("{s:o,s:b}", "command", words, "stdin", !is_detached && options->stdin_fd >= 0);
    if (options->env)
        (void)json_object_set_new(body, "env", env_of(options->env));
    if (options->user)
        (void)json_object_set_new(body, "user", json_string(options->user));
    if (options->workdir)
        (void)json_object_set_new(body, "workdir", json_string(options->workdir));
    (void)snprintf(timeout, sizeof(timeout), "%" PRIu64 "ms", options->timeout_ms);
    if (options->timeout_ms)
        (void)json_object_set_new(body, "timeout", json_string(timeout));
    if (options->terminal_fd >= 0)
        (void)json_object_set_new(body, "tty", json_true());
    if (terminal_size(options->terminal_fd, &size)) {
        (void)json_object_set_new(body, "rows", json_integer(size.ws_row));
        (void)json_object_set_new(body, "cols", json_integer(size.ws_col));
    }
    return body;
}

static int start(const struct remote_exec *exec, bool is_detached, char ret_id[33],
                 struct hutch_error *err)
{
    remote_autojson json_t *answer = NULL;
    json_t *body = body_of(exec, is_detached);
    if (!body)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "the command has bytes that are no UTF-8; the daemon takes text alone");
    struct remote_call call = REMOTE_CALL(
        remote_path("/api/sandboxes/{}/exec", exec->sandbox->name), .method = "POST", .body = body);
    if (remote_do(&call, &answer, err) < 0)
        return -(int)err->code;
    const char *id = remote_text(answer, "id");
    if (!remote_is_id(id))
        return remote_fail_strange(err, "a command without an id");
    (void)snprintf(ret_id, 33, "%s", id);
    return 0;
}

int hutch_sandbox_spawn(struct hutch_sandbox *sandbox, size_t argc, const char *const *argv,
                        const struct hutch_exec_options *options, char ret_id[33],
                        struct hutch_error *err)
{
    const struct remote_exec exec = {
        .sandbox = sandbox, .argc = argc, .argv = argv, .options = options};
    return start(&exec, true, ret_id, err);
}

/* Whether it arrives does not matter: the command may just have ended. */
static void send_signal(const struct session *session, int number)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    int lost = hutch_sandbox_signal(session->exec->sandbox, session->id, number, &ignored);
    (void)lost;
}

/* ---- what comes ------------------------------------------------------------------------------ */

/* A reader that has gone away ends the command as a pipe of its own would. */
static int on_lost_reader(struct session *session, size_t index, struct hutch_error *err)
{
    if (err->os_errno != EPIPE)
        return -(int)err->code;
    *err = (struct hutch_error)HUTCH_ERROR_INIT;
    session->output.fds[index] = -1;
    send_signal(session, SIGPIPE);
    return 0;
}

static int take_output(struct session *session, const char *data, size_t length,
                       struct hutch_error *err)
{
    uint64_t after = 0;
    if (length < HEAD_BYTES || (data[0] != HUTCH_STDOUT && data[0] != HUTCH_STDERR))
        return remote_fail_strange(err, "a piece of output without a head");
    for (size_t i = 1; i < HEAD_BYTES; i++)
        after = after << 8 | (unsigned char)data[i];
    enum hutch_stream stream = (enum hutch_stream)data[0];
    uint64_t start = after >= length - HEAD_BYTES ? after - (length - HEAD_BYTES) : 0;
    session->lost_bytes += start > session->output.offset ? start - session->output.offset : 0;
    session->complaint = (struct hutch_error)HUTCH_ERROR_INIT;
    if (remote_output_add(&session->output, stream, data + HEAD_BYTES, length - HEAD_BYTES, err) <
            0 &&
        on_lost_reader(session, stream == HUTCH_STDERR ? 1 : 0, err) < 0)
        return -(int)err->code;
    session->output.offset = after;
    return 0;
}

static int on_message(void *userdata, bool is_text, const char *data, size_t length,
                      struct hutch_error *err)
{
    struct session *session = userdata;
    session->tries = 0;
    if (!is_text)
        return take_output(session, data, length, err);
    remote_autojson json_t *message = json_loadb(data, length, JSON_ALLOW_NUL, NULL);
    const char *type = remote_text(message, "type");
    if (type && !strcmp(type, "error")) /* it matters when nothing comes after it */
        (void)remote_fail_problem(json_object_get(message, "error"), &session->complaint);
    if (type && !strcmp(type, "result")) {
        json_decref(session->result);
        session->result = json_incref(json_object_get(message, "result"));
    }
    return message ? 0 : remote_fail_strange(err, "a message that is no JSON");
}

/* ---- what goes ------------------------------------------------------------------------------- */

static int say(struct session *session, json_t *message, struct hutch_error *err)
{
    char *text = json_dumps(message, JSON_COMPACT);
    json_decref(message);
    int failed = text ? remote_websocket_send(session->socket, true, text, strlen(text), err)
                      : hutch_fail_nomem(err);
    free(text);
    return failed;
}

static int pass_stdin(struct session *session, struct hutch_error *err)
{
    char data[STDIN_BYTES];
    ssize_t got = read(session->exec->options->stdin_fd, data, sizeof(data));
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return 0;
    if (got > 0)
        return remote_websocket_send(session->socket, false, data, (size_t)got, err);
    session->reads_stdin = false;
    return say(session, json_pack("{s:s}", "type", "close_stdin"), err);
}

static int pass_size(struct session *session, struct hutch_error *err)
{
    struct signalfd_siginfo info;
    struct winsize size = {0};
    while (read(session->exec->options->resize_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
        ;
    if (!terminal_size(session->exec->options->terminal_fd, &size))
        return 0;
    return say(session,
               json_pack("{s:s,s:i,s:i}", "type", "resize", "rows", (int)size.ws_row, "cols",
                         (int)size.ws_col),
               err);
}

/* By a request of their own: what is typed may be waiting for a command that does not read. */
static void pass_signals(const struct session *session)
{
    struct signalfd_siginfo info;
    while (read(session->exec->options->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
        send_signal(session, (int)info.ssi_signo);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static int open_socket(struct session *session, struct hutch_error *err)
{
    char *path =
        remote_path("/api/sandboxes/{}/exec/{}/attach", session->exec->sandbox->name, session->id);
    path = remote_path_add_number(path, "from", session->output.offset);
    return remote_websocket_open(path, on_message, session, &session->socket, err);
}

/* Waits, and passes on what has come from this side. */
static int attend(struct session *session, struct hutch_error *err)
{
    const struct hutch_exec_options *options = session->exec->options;
    bool takes_stdin = session->reads_stdin && remote_websocket_has_room(session->socket);
    short more = remote_websocket_wants_write(session->socket) ? POLLOUT : 0;
    struct pollfd fds[] = {
        {remote_websocket_fd(session->socket), (short)(POLLIN | more), 0},
        {takes_stdin ? options->stdin_fd : -1, POLLIN, 0},
        {options->signal_fd, POLLIN, 0},
        {options->resize_fd, POLLIN, 0},
        {options->cancel_fd, POLLIN, 0},
    };
    if (poll(fds, HUTCH_COUNT(fds), remote_websocket_has_more(session->socket) ? 0 : -1) < 0)
        return errno == EINTR ? 0 : hutch_fail_errno(err, errno, "wait for the command");
    session->is_cancelled = fds[4].revents != 0;
    if (fds[2].revents)
        pass_signals(session);
    if (fds[3].revents && pass_size(session, err) < 0)
        return -(int)err->code;
    return fds[1].revents ? pass_stdin(session, err) : 0;
}

/* What was typed and not received is gone with the connection: a person sees that, a file does
 * not. */
static int reconnect(struct session *session, struct hutch_error *err)
{
    remote_websocket_free(session->socket);
    session->socket = NULL;
    if (session->complaint.code) {
        *err = session->complaint;
        return -(int)err->code;
    }
    if (session->reads_stdin && session->exec->options->terminal_fd < 0)
        return hutch_fail(err, HUTCH_E_UNAVAILABLE, 0,
                          "the connection to the daemon was cut while standard input was being "
                          "sent, and the command was ended; try again");
    int failed = -1;
    while (failed && ++session->tries <= REMOTE_TRIES) {
        (void)poll(NULL, 0, (int)(REMOTE_PAUSE_MS * session->tries));
        failed = open_socket(session, err);
        if (failed && err->code != HUTCH_E_UNAVAILABLE)
            break;
    }
    if (failed && !err->code)
        return hutch_fail(err, HUTCH_E_UNAVAILABLE, 0,
                          "the connection to the daemon was cut again and again; see its log");
    return failed;
}

static int accompany(struct session *session, struct hutch_error *err)
{
    int failed = open_socket(session, err);
    while (!failed && !session->result && !session->is_cancelled) {
        failed = remote_websocket_turn(session->socket, err);
        if (session->result)
            return 0;
        if (failed && !err->code)
            failed = reconnect(session, err);
        else if (!failed)
            failed = attend(session, err);
    }
    return failed;
}

static int conclude(struct session *session, int failed, struct hutch_result **ret_result,
                    struct hutch_error *err)
{
    struct hutch_result *result = NULL;
    if (failed || session->is_cancelled)
        send_signal(session, SIGKILL);
    if (!failed)
        failed = session->is_cancelled ? remote_result_cancelled(&result, err)
                                       : remote_result_in(session->result, &result, err);
    if (!failed)
        failed = remote_output_finish(&session->output, result, err);
    if (!failed && session->lost_bytes && !result->error.code)
        (void)hutch_fail(&result->error, HUTCH_E_UNAVAILABLE, 0,
                         "%" PRIu64 " bytes of output are no longer there: the command was faster "
                         "than the connection; a larger '--log-limit' of the sandbox keeps more",
                         session->lost_bytes);
    if (failed)
        hutch_result_free(result);
    else
        *ret_result = result;
    return failed;
}

int remote_exec_run(const struct remote_exec *exec, struct hutch_result **ret_result,
                    struct hutch_error *err)
{
    const struct hutch_exec_options *options = exec->options;
    struct session session = {.exec = exec, .reads_stdin = options->stdin_fd >= 0};
    struct remote_guard own = REMOTE_GUARD_INIT;
    if (!exec->guard && remote_guard_start(&own, err) < 0)
        return -(int)err->code;
    remote_output_start(&session.output, options->stdout_fd, options->stderr_fd, options->capture,
                        exec->output_bytes);
    int failed = start(exec, false, session.id, err);
    if (!failed) {
        if (!exec->guard)
            remote_guard_tell(&own, REMOTE_GUARD_END, exec->sandbox->name, session.id);
        failed = conclude(&session, accompany(&session, err), ret_result, err);
    }
    remote_guard_stop(&own);
    remote_websocket_free(session.socket);
    remote_output_done(&session.output);
    json_decref(session.result);
    return failed;
}

int hutch_sandbox_exec(struct hutch_sandbox *sandbox, size_t argc, const char *const *argv,
                       const struct hutch_exec_options *options, struct hutch_result **ret_result,
                       struct hutch_error *err)
{
    struct hutch_spec *spec = NULL;
    struct remote_exec exec = {.sandbox = sandbox, .argc = argc, .argv = argv, .options = options};
    if (options->capture && hutch_sandbox_spec(sandbox, &spec, err) < 0)
        return -(int)err->code;
    exec.output_bytes = spec ? spec->limits.output_bytes : 0;
    hutch_spec_free(spec);
    return remote_exec_run(&exec, ret_result, err);
}
