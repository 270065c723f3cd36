/* SPDX-License-Identifier: Apache-2.0 */
/* What recorded commands have said, and the commands themselves. A connection that is cut is made
 * again, and goes on where it was. */
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "remote/client.h"
#include "remote/lines.h"
#include "remote/result_in.h"
#include "remote/sandbox.h"
#include "remote/session.h"
#include "util/own.h"

struct log_reading {
    const struct hutch_log_options *options;
    hutch_log_fn on_piece;
    void *userdata;
    uint64_t next; /* where to go on */
    int status;    /* what on_piece has said */
};

static int take_piece(void *userdata, const struct remote_piece *piece, struct hutch_error *err)
{
    struct log_reading *reading = userdata;
    uint64_t start = piece->after >= piece->length ? piece->after - piece->length : 0;
    struct hutch_log_piece shown = {.stream = piece->stream,
                                    .offset = start,
                                    .time_us = piece->time_us,
                                    .lost_bytes = piece->lost_bytes,
                                    .data = piece->data,
                                    .length = piece->length};
    reading->next = piece->after;
    reading->status = reading->on_piece(reading->userdata, &shown);
    return reading->status ? hutch_fail(err, HUTCH_E_SYSTEM, 0, "the reader wants no more") : 0;
}

static char *log_path(const struct hutch_sandbox *sandbox, const struct log_reading *reading)
{
    const struct hutch_log_options *options = reading->options;
    char *path = remote_path("/api/sandboxes/{}/logs", sandbox->name);
    path = remote_path_add(path, "exec", options->exec_id);
    path = remote_path_add(path, "follow", options->follow ? "1" : NULL);
    if (options->streams == HUTCH_STDOUT || options->streams == HUTCH_STDERR)
        path =
            remote_path_add(path, "stream", options->streams == HUTCH_STDOUT ? "stdout" : "stderr");
    if (reading->next)
        return remote_path_add_number(path, "from", reading->next);
    if (options->since_us) {
        char since[40];
        (void)snprintf(since, sizeof(since), "%" PRIu64 ".%06" PRIu64, options->since_us / 1000000,
                       options->since_us % 1000000);
        return remote_path_add(path, "since", since);
    }
    return options->tail != UINT64_MAX ? remote_path_add_number(path, "tail", options->tail) : path;
}

static int read_once(struct hutch_sandbox *sandbox, struct log_reading *reading, bool *ret_was_cut,
                     struct hutch_error *err)
{
    __attribute__((cleanup(remote_lines_done))) struct remote_lines lines =
        REMOTE_LINES(take_piece, reading);
    struct remote_call call =
        REMOTE_CALL(log_path(sandbox, reading), .accept = "application/x-ndjson",
                    .on_data = remote_lines_feed, .userdata = &lines);
    call.cancel_fd = reading->options->cancel_fd;
    int failed = remote_do(&call, NULL, err);
    *ret_was_cut = call.was_cut && !reading->status;
    return call.was_cancelled ? 0 : failed;
}

int hutch_sandbox_logs(struct hutch_sandbox *sandbox, const struct hutch_log_options *options,
                       hutch_log_fn on_piece, void *userdata, struct hutch_error *err)
{
    struct log_reading reading = {
        .options = options, .on_piece = on_piece, .userdata = userdata, .next = options->offset};
    bool was_cut = false;
    int failed = read_once(sandbox, &reading, &was_cut, err);
    for (int try = 1; failed && was_cut && try < REMOTE_TRIES; try++) {
        (void)poll(NULL, 0, REMOTE_PAUSE_MS * try);
        failed = read_once(sandbox, &reading, &was_cut, err);
    }
    return reading.status ? reading.status : failed;
}

int hutch_sandbox_wait(struct hutch_sandbox *sandbox, const char *id,
                       struct hutch_result **ret_result, struct hutch_error *err)
{
    remote_autojson json_t *answer = NULL;
    int failed = 0;
    for (int try = 1; try <= REMOTE_TRIES; try++) {
        struct remote_call call =
            REMOTE_CALL(remote_path("/api/sandboxes/{}/exec/{}?wait=1", sandbox->name, id));
        failed = remote_do(&call, &answer, err);
        if (failed != -HUTCH_E_UNAVAILABLE)
            break;
        (void)poll(NULL, 0, REMOTE_PAUSE_MS * try);
    }
    return failed ? failed : remote_result_in(json_object_get(answer, "result"), ret_result, err);
}

int hutch_sandbox_signal(struct hutch_sandbox *sandbox, const char *id, int number,
                         struct hutch_error *err)
{
    struct remote_call call =
        REMOTE_CALL(remote_path("/api/sandboxes/{}/exec/{}/signal", sandbox->name, id),
                    .method = "POST", .body = json_pack("{s:i}", "signal", number));
    return remote_do(&call, NULL, err);
}

/* ---- which there are ------------------------------------------------------------------------- */

static int list_one(const json_t *row, hutch_process_fn on_process, void *userdata)
{
    const json_t *command = json_object_get(row, "command");
    const char *id = remote_text(row, "id"), *state = remote_text(row, "state");
    const char **argv = calloc(json_array_size(command) + 1, sizeof(*argv));
    size_t index, count = 0;
    const json_t *word;
    json_array_foreach(command, index, word)
    {
        if (argv && json_is_string(word))
            argv[count++] = json_string_value(word);
    }
    struct hutch_process process = {
        .session = id,
        .phase = state && !strcmp(state, "ended") ? "ended" : "running",
        .recorded = remote_flag(row, "recorded"),
        .age_us = remote_number(row, "age_ms", 0) * 1000,
        .argv = argv,
    };
    int status = argv && remote_is_id(id) ? on_process(userdata, &process) : 0;
    free(argv);
    return status;
}

int hutch_sandbox_ps(struct hutch_sandbox *sandbox, hutch_process_fn on_process, void *userdata,
                     struct hutch_error *err)
{
    remote_autojson json_t *answer = NULL;
    struct remote_call call = REMOTE_CALL(remote_path("/api/sandboxes/{}/ps", sandbox->name));
    size_t index;
    const json_t *row;
    if (remote_do(&call, &answer, err) < 0)
        return -(int)err->code;
    const json_t *list = remote_list(answer, "commands", err);
    if (!list)
        return -(int)err->code;
    json_array_foreach(list, index, row)
    {
        int status = list_one(row, on_process, userdata);
        if (status)
            return status;
    }
    return 0;
}
