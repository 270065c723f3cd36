/* SPDX-License-Identifier: Apache-2.0 */
/* POST /api/run: a command in a sandbox of its own, which is gone when it is answered.
 *
 * A run has deadlines, which the thread that runs it keeps, so that thread never waits for the
 * client: where the output is asked for as a stream, it goes through pipes to a second thread that
 * does. Who is gone has cancelled the run. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "server/events_out.h"
#include "server/run_request.h"
#include "server/sandboxes.h"
#include "server/server.h"
#include "server/util.h"

#define STACK_BYTES ((size_t)256 << 10)
#define CHUNK_BYTES ((size_t)32 << 10)

const struct api_field run_fields[] = {RUN_FIELDS, {0}};

int run_request_read(const struct api_call *call, const json_t *body,
                     const struct api_field *fields, struct run_request *request,
                     struct hutch_error *err)
{
    if (request_spec(call, body, fields, &request->spec, err) < 0)
        return -(int)err->code;
    return request_stdin(body, &request->stdin_fd, err);
}

void run_request_done(struct run_request *request)
{
    hutch_spec_free(request->spec);
    request->spec = NULL;
    server_closep(&request->stdin_fd);
}

static void run_and_answer(struct api_call *call, const struct run_request *request)
{
    struct hutch_run_options options = HUTCH_RUN_OPTIONS_INIT;
    struct hutch_result *result = NULL;
    struct hutch_error err = HUTCH_ERROR_INIT;
    char *text = NULL;
    options.stdin_fd = request->stdin_fd;
    options.cancel_fd = api_gone_fd(call);
    int status = hutch_run(request->spec, &options, &result, &err);
    if (status == 0)
        status = hutch_result_to_json(result, &text, NULL, &err);
    hutch_result_free(result);
    if (status == 0)
        api_reply_json_text(call, 200, text);
    else
        api_fail(call, &err);
}

/* ---- as a stream ----------------------------------------------------------------------------- */

struct relay {
    struct events_out out;
    int fds[2]; /* where the output of the run comes from */
    uint64_t offset;
    pthread_t thread;
};

/* Also when the client is gone: the command must not wait for a pipe that nobody reads. */
static bool pass_on(struct relay *relay, size_t which)
{
    char data[CHUNK_BYTES];
    ssize_t length = read(relay->fds[which], data, sizeof(data));
    if (length < 0 && errno == EINTR)
        return true;
    if (length <= 0)
        return false;
    const struct hutch_log_piece piece = {.stream = which ? HUTCH_STDERR : HUTCH_STDOUT,
                                          .offset = relay->offset,
                                          .data = data,
                                          .length = (size_t)length};
    relay->offset += (uint64_t)length;
    (void)events_piece(&relay->out, &piece);
    return true;
}

static void *relay_main(void *argument)
{
    struct relay *relay = argument;
    struct pollfd fds[] = {{relay->fds[0], POLLIN, 0}, {relay->fds[1], POLLIN, 0}};
    while (fds[0].fd >= 0 || fds[1].fd >= 0) {
        int ready = poll(fds, SERVER_COUNT(fds), EVENTS_QUIET_MS);
        if (ready == 0)
            (void)events_quiet(&relay->out);
        for (size_t i = 0; ready > 0 && i < SERVER_COUNT(fds); i++)
            if (fds[i].fd >= 0 && fds[i].revents && !pass_on(relay, i))
                fds[i].fd = -1;
    }
    return NULL;
}

static int start_relay(struct relay *relay, int ret_ends[2], struct hutch_error *err)
{
    pthread_attr_t small;
    int pipes[2][2] = {{-1, -1}, {-1, -1}};
    int failed = pipe2(pipes[0], O_CLOEXEC) < 0 || pipe2(pipes[1], O_CLOEXEC) < 0 ? errno : 0;
    for (size_t i = 0; i < 2; i++) {
        relay->fds[i] = pipes[i][0];
        ret_ends[i] = pipes[i][1];
    }
    (void)pthread_attr_init(&small);
    (void)pthread_attr_setstacksize(&small, STACK_BYTES);
    if (!failed)
        failed = pthread_create(&relay->thread, &small, relay_main, relay);
    (void)pthread_attr_destroy(&small);
    if (!failed)
        return 0;
    for (size_t i = 0; i < 2; i++) {
        server_closep(&relay->fds[i]);
        server_closep(&ret_ends[i]);
    }
    errno = failed;
    return server_fail_errno(err, "pass output on");
}

/* Everything that was said is told before how it ended. */
static void end_relay(struct relay *relay, int ends[2])
{
    server_closep(&ends[0]);
    server_closep(&ends[1]);
    (void)pthread_join(relay->thread, NULL);
    server_closep(&relay->fds[0]);
    server_closep(&relay->fds[1]);
}

static void run_and_stream(struct api_call *call, const struct run_request *request,
                           enum events_form form)
{
    struct hutch_run_options options = HUTCH_RUN_OPTIONS_INIT;
    struct relay relay = {.fds = {-1, -1}};
    struct hutch_result *result = NULL;
    struct hutch_error err = HUTCH_ERROR_INIT;
    int ends[2];
    if (hutch_spec_validate(request->spec, &err) < 0) { /* a request that is wrong has no stream */
        api_fail(call, &err);
        return;
    }
    if (events_begin(call, form, &relay.out) < 0)
        return;
    int status = start_relay(&relay, ends, &err);
    if (status == 0) {
        options.stdin_fd = request->stdin_fd;
        options.cancel_fd = api_gone_fd(call);
        options.stdout_fd = ends[0];
        options.stderr_fd = ends[1];
        options.capture = false;
        status = hutch_run(request->spec, &options, &result, &err);
        end_relay(&relay, ends);
    }
    (void)(status == 0 ? events_result(&relay.out, result) : events_error(&relay.out, &err));
    hutch_result_free(result);
}

void handle_run(struct api_call *call)
{
    SERVER_CLEANUP(run_request_done) struct run_request request = RUN_REQUEST_INIT;
    struct hutch_error err = HUTCH_ERROR_INIT;
    enum events_form form = events_form_of(call);
    if (request_check_stream(call, &err) < 0 ||
        run_request_read(call, api_body(call), run_fields, &request, &err) < 0)
        api_fail(call, &err);
    else if (form == EVENTS_NONE)
        run_and_answer(call, &request);
    else
        run_and_stream(call, &request, form);
}
