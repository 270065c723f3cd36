/* SPDX-License-Identifier: Apache-2.0 */
/* POST /api/batch: many runs by one request. A line is read when there is a hand free for it, so
 * neither a long batch nor a slow reader costs memory; each line is answered when its run has
 * ended, and one that is wrong concerns no other. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "http/http.h"
#include "server/body.h"
#include "server/line_reader.h"
#include "server/run_request.h"
#include "server/sandboxes.h"
#include "server/server.h"
#include "server/util.h"

#define STACK_BYTES ((size_t)512 << 10)
#define MOST_PARALLEL 256

const struct api_field batch_line_fields[] = {
    {"id", API_OBJECT, false, "Anything: the line's answer has it, too.", 0},
    RUN_FIELDS,
    {0},
};

struct batch {
    struct api_call *call;
    int out;
    pthread_mutex_t mutex; /* of all below */
    struct line_reader lines;
    bool is_over; /* no line comes any more, or nobody reads the answers */
    pthread_mutex_t writing;
};

/* ---- one line -------------------------------------------------------------------------------- */

static json_t *failure_of(const struct hutch_error *err)
{
    return json_pack("{s:s,s:s}", "code", hutch_code_name(err->code), "message", err->msg);
}

static int run_body(struct batch *batch, const json_t *body, json_t **ret_result,
                    struct hutch_error *err)
{
    SERVER_CLEANUP(run_request_done) struct run_request request = RUN_REQUEST_INIT;
    struct hutch_run_options options = HUTCH_RUN_OPTIONS_INIT;
    struct hutch_result *result = NULL;
    server_autofree char *text = NULL;
    if (run_request_read(batch->call, body, batch_line_fields, &request, err) < 0)
        return -(int)err->code;
    options.stdin_fd = request.stdin_fd;
    options.cancel_fd = api_gone_fd(batch->call);
    int status = hutch_run(request.spec, &options, &result, err);
    if (status == 0)
        status = hutch_result_to_json(result, &text, NULL, err);
    hutch_result_free(result);
    if (status == 0)
        *ret_result = json_loads(text, 0, NULL);
    return status == 0 && !*ret_result ? server_fail_nomem(err) : status;
}

static json_t *answer_line(struct batch *batch, const struct line *line)
{
    struct hutch_error err = line->err;
    json_t *body = NULL, *result = NULL;
    uint64_t depth = api_server(batch->call)->limits.json_depth;
    json_t *answer = json_pack("{s:I}", "index", (json_int_t)line->index);
    int status =
        err.code ? -(int)err.code : body_parse(line->text, line->length, depth, &body, &err);
    if (status == 0)
        status = body_check(body, batch_line_fields, &err);
    json_t *id = json_object_get(body, "id");
    if (id)
        (void)json_object_set(answer, "id", id);
    if (status == 0)
        status = run_body(batch, body, &result, &err);
    (void)json_object_set_new(answer, status == 0 ? "result" : "error",
                              status == 0 ? result : failure_of(&err));
    json_decref(body);
    return answer;
}

static bool write_line(struct batch *batch, json_t *answer)
{
    size_t length = 0;
    char *text = json_dumps(answer, JSON_COMPACT);
    json_decref(answer);
    if (!text)
        return false;
    length = strlen(text);
    text[length] = '\n'; /* in the place of its NUL */
    (void)pthread_mutex_lock(&batch->writing);
    bool is_written = server_write_all(batch->out, text, length + 1) == 0;
    (void)pthread_mutex_unlock(&batch->writing);
    free(text);
    return is_written;
}

/* ---- many ------------------------------------------------------------------------------------ */

static bool next_line(struct batch *batch, struct line *ret_line)
{
    (void)pthread_mutex_lock(&batch->mutex);
    bool has_line = !batch->is_over && line_reader_next(&batch->lines, ret_line);
    batch->is_over |= !has_line;
    (void)pthread_mutex_unlock(&batch->mutex);
    return has_line;
}

static void give_up(struct batch *batch)
{
    (void)pthread_mutex_lock(&batch->mutex);
    batch->is_over = true;
    (void)pthread_mutex_unlock(&batch->mutex);
}

static void *work(void *argument)
{
    struct batch *batch = argument;
    struct line line;
    while (next_line(batch, &line)) {
        json_t *answer = answer_line(batch, &line);
        free(line.text);
        if (!write_line(batch, answer))
            give_up(batch);
    }
    return NULL;
}

/* This thread is one of them; where there are no more to be had, it does all of the work. */
static void work_together(struct batch *batch, uint64_t parallel)
{
    pthread_t threads[MOST_PARALLEL];
    pthread_attr_t small;
    size_t count = 0;
    (void)pthread_attr_init(&small);
    (void)pthread_attr_setstacksize(&small, STACK_BYTES);
    while (count + 1 < parallel && pthread_create(&threads[count], &small, work, batch) == 0)
        count++;
    (void)pthread_attr_destroy(&small);
    (void)work(batch);
    for (size_t i = 0; i < count; i++)
        (void)pthread_join(threads[i], NULL);
}

static uint64_t parallel_of(const struct api_call *call)
{
    uint64_t running = api_server(call)->limits.running;
    uint64_t most = running && running < MOST_PARALLEL ? running : MOST_PARALLEL;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t usual = processors > 0 ? (uint64_t)processors : 1;
    uint64_t asked = api_query_number(call, "parallel", usual);
    return asked < 1 ? 1 : asked < most ? asked : most;
}

void handle_batch(struct api_call *call)
{
    struct batch batch = {
        .call = call,
        .lines = LINE_READER(api_body_fd(call), (size_t)api_server(call)->limits.body_bytes)};
    if (api_body_fd(call) < 0) {
        api_problem(call, 400, "invalid",
                    "the body is empty; send a run's JSON object on each line");
        return;
    }
    if (api_stream(call, 200, "application/x-ndjson", HTTP_LENGTH_UNKNOWN, &batch.out) < 0)
        return;
    (void)pthread_mutex_init(&batch.mutex, NULL);
    (void)pthread_mutex_init(&batch.writing, NULL);
    work_together(&batch, parallel_of(call));
    (void)pthread_mutex_destroy(&batch.writing);
    (void)pthread_mutex_destroy(&batch.mutex);
    line_reader_done(&batch.lines);
    if (!api_body_is_whole(call))
        api_cut(call);
}
