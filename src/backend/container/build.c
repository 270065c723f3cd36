/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/container/build.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "backend/container/porter.h"
#include "backend/native/wire.h"
#include "porter/order.h"
#include "util/own.h"

/* One row for every text and every flag, so that neither side can forget one. */
#define TEXTS(X) X(directory) X(dockerfile) X(text) X(reference) X(platform)
#define FLAGS(X) X(no_cache) X(is_named)
#define ARGUMENT "build_arg"
#define LOG "log"
#define LINE "line"

/* ---- the caller ---- */

/* One without a value means the variable of that name, which the porter does not have. */
static void add_argument(struct wire_message *message, const char *argument)
{
    hutch_autofree char *pair = NULL;
    const char *value = strchr(argument, '=') ? NULL : getenv(argument);
    if (value && asprintf(&pair, "%s=%s", argument, value) < 0) {
        pair = NULL;
        message->text.failed = true;
    }
    wire_add(message, ARGUMENT, pair ? pair : argument);
}

static int send_request(int socket, const struct build_request *request, struct hutch_error *err)
{
    struct wire_message message = WIRE_MESSAGE_INIT;
    wire_begin(&message, PORTER_VERB_BUILD);
#define X(key) wire_add(&message, #key, request->key);
    TEXTS(X)
#undef X
#define X(key) wire_add_number(&message, #key, request->key);
    FLAGS(X)
#undef X
    for (const char *const *argument = request->build_args; argument && *argument; argument++)
        add_argument(&message, *argument);
    int status = wire_send(socket, &message, err);
    hutch_buf_wipe(&message.text);
    return status;
}

/* Until it is told how it went; an end without a word is one that went wrong. */
static int hear(int socket, const struct build_request *request, struct hutch_error *err)
{
    for (;;) {
        struct wire_message message;
        int status = wire_receive(socket, &message, err);
        if (status < 0)
            return hutch_fail(err, HUTCH_E_UNAVAILABLE, 0,
                              "the program that speaks to the engine ended without a word");
        const char *line = wire_get(&message, LINE);
        bool is_log = !strcmp(wire_verb(&message), LOG);
        if (is_log && line && request->on_line)
            request->on_line(request->context, line);
        status = is_log ? 0 : wire_check(&message, err);
        wire_done(&message);
        if (!is_log)
            return status;
    }
}

int container_build(const char *backend, const struct build_request *request,
                    struct hutch_error *err)
{
    hutch_autofd int socket = HUTCH_NO_FD;
    pid_t pid = 0;
    int status = porter_open(PORTER_VERB_BUILD, backend, &socket, &pid, err);
    if (status < 0)
        return status;
    status = send_request(socket, request, err);
    if (status == 0)
        status = hear(socket, request, err);
    hutch_fd_close(&socket);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return status;
}

/* ---- the porter ---- */

/* Who does not listen any more is noticed elsewhere. */
static void pass_line(void *context, const char *line)
{
    const int *socket = context;
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    struct wire_message message = WIRE_MESSAGE_INIT;
    wire_begin(&message, LOG);
    wire_add(&message, LINE, line);
    (void)!wire_send(*socket, &message, &ignored);
    hutch_buf_done(&message.text);
}

static int read_request(const struct wire_message *message, struct build_request *request,
                        struct hutch_strlist *arguments, struct hutch_error *err)
{
#define X(key) request->key = wire_get(message, #key);
    TEXTS(X)
#undef X
#define X(key) request->key = wire_number(message, #key, 0) != 0;
    FLAGS(X)
#undef X
    for (const char *at = NULL; (at = wire_next(message, ARGUMENT, at));)
        if (hutch_strlist_add(arguments, at, err) < 0)
            return -(int)err->code;
    request->build_args = (const char *const *)arguments->items;
    if (request->directory && request->dockerfile && request->text && request->reference)
        return 0;
    return hutch_fail(err, HUTCH_E_INTERNAL, 0, "a build that lacks a part of its request");
}

int container_build_serve(int socket, container_build_fn *build, struct hutch_error *err)
{
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist arguments = {0};
    struct build_request request = {.on_line = pass_line, .context = &socket};
    struct wire_message message, answer = WIRE_MESSAGE_INIT;
    if (wire_receive(socket, &message, err) < 0)
        return -(int)err->code;
    int status = read_request(&message, &request, &arguments, err);
    if (status == 0)
        status = build(&request, err);
    if (status < 0)
        wire_fail(&answer, err);
    else
        wire_begin(&answer, "done");
    status = wire_send(socket, &answer, err);
    hutch_buf_done(&answer.text);
    wire_done(&message);
    return status;
}
