/* SPDX-License-Identifier: Apache-2.0 */
/* hutch_run(), in two ways. A run that needs nothing of this side but its spec is one request whose
 * answer is a stream: whoever hangs up ends it. One with standard input, a terminal or files to
 * bring is a sandbox that is made, has its command executed and is removed. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/spec.h"
#include "hutch/hutch.h"
#include "remote/body.h"
#include "remote/capture.h"
#include "remote/client.h"
#include "remote/files.h"
#include "remote/lines.h"
#include "remote/result_in.h"
#include "remote/session.h"
#include "util/json_out.h"
#include "util/own.h"

enum { SMALL_STDIN_BYTES = 256 << 10 };

/* ---- one request ----------------------------------------------------------------------------- */

static int take_piece(void *userdata, const struct remote_piece *piece, struct hutch_error *err)
{
    return remote_output_add(userdata, piece->stream, piece->data, piece->length, err);
}

static int stream_run(json_t *body, const struct hutch_run_options *options,
                      struct remote_output *output, struct hutch_result **ret_result,
                      struct hutch_error *err)
{
    struct remote_lines lines = REMOTE_LINES(take_piece, output);
    struct remote_call call = REMOTE_CALL(remote_path("/api/run"), .method = "POST", .body = body,
                                          .accept = "application/x-ndjson",
                                          .on_data = remote_lines_feed, .userdata = &lines);
    struct hutch_result *result = NULL;
    call.cancel_fd = options->cancel_fd;
    int failed = remote_do(&call, NULL, err);
    if (call.was_cancelled)
        failed = remote_result_cancelled(&result, err);
    else if (lines.result)
        failed = remote_result_in(lines.result, &result, err);
    else if (!failed)
        failed = remote_fail_strange(err, "a run without a result");
    remote_lines_done(&lines);
    if (!failed)
        failed = remote_output_finish(output, result, err);
    if (failed)
        hutch_result_free(result);
    else
        *ret_result = result;
    return failed;
}

/* What is small and whole already may go with the request. */
static bool has_small_stdin(int fd)
{
    struct stat info;
    return fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
           info.st_size <= SMALL_STDIN_BYTES;
}

static int add_stdin(json_t *body, int fd, struct hutch_error *err)
{
    struct hutch_buf encoded = HUTCH_BUF((size_t)2 * SMALL_STDIN_BYTES);
    struct hutch_json_out out = {&encoded, false};
    hutch_autofree char *data = malloc(SMALL_STDIN_BYTES + 1);
    size_t length = 0;
    ssize_t got = 0;
    if (!data)
        return hutch_fail_nomem(err);
    while (length < SMALL_STDIN_BYTES &&
           ((got = read(fd, data + length, SMALL_STDIN_BYTES - length)) > 0 ||
            (got < 0 && errno == EINTR)))
        length += got > 0 ? (size_t)got : 0;
    if (got < 0)
        return hutch_fail_errno(err, errno, "read standard input");
    hutch_json_base64(&out, NULL, data, length);
    json_t *text =
        encoded.failed ? NULL : json_loadb(encoded.data, encoded.length, JSON_DECODE_ANY, NULL);
    hutch_buf_done(&encoded);
    if (!text || json_object_set_new(body, "stdin", text) < 0 ||
        json_object_set_new(body, "stdin_encoding", json_string("base64")) < 0)
        return hutch_fail_nomem(err);
    return 0;
}

static int run_by_request(const struct hutch_spec *spec, const struct hutch_run_options *options,
                          struct remote_output *output, struct hutch_result **ret_result,
                          struct hutch_error *err)
{
    json_t *body = NULL;
    if (remote_body_of_spec(spec, &body, err) < 0)
        return -(int)err->code;
    if (options->stdin_fd >= 0 && add_stdin(body, options->stdin_fd, err) < 0) {
        json_decref(body);
        return -(int)err->code;
    }
    return stream_run(body, options, output, ret_result, err);
}

/* ---- a sandbox of its own -------------------------------------------------------------------- */

/* What a sandbox that stays understands otherwise, or not at all. */
static int check_stays(const struct hutch_spec *spec, struct hutch_error *err)
{
    static const struct {
        const char *field;
        const char *flag;
    } runs_only[] = {{"limits.output_max", "output-max"},
                     {"limits.idle_timeout", "idle-timeout"},
                     {"artifacts", "artifacts"}};
    for (size_t i = 0; i < HUTCH_COUNT(runs_only); i++)
        if (hutch_spec_is_set(spec, runs_only[i].field))
            return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                              "'--%s' does not go together with '-i', '-t' or a workspace that is "
                              "sent, where a daemon runs the command; leave one of them out",
                              runs_only[i].flag);
    return 0;
}

static void make_name(char name[32])
{
    unsigned char bytes[8] = {0};
    if (getrandom(bytes, sizeof(bytes), 0) < 0)
        (void)snprintf((char *)bytes, sizeof(bytes), "%x", (unsigned)getpid());
    (void)snprintf(name, 32, "run-");
    for (size_t i = 0; i < sizeof(bytes); i++)
        (void)snprintf(name + 4 + 2 * i, 3, "%02x", bytes[i]);
}

/* The limits of a run: its writable layer is not one for a longer life, its time is the command's.
 */
static int body_that_stays(const struct hutch_spec *spec, const char *name, json_t **ret_body,
                           struct hutch_error *err)
{
    json_t *body = NULL;
    if (check_stays(spec, err) < 0 || remote_body_of_spec(spec, &body, err) < 0)
        return -(int)err->code;
    json_t *limits = json_object_get(body, "limits");
    if (!limits) {
        limits = json_object();
        (void)json_object_set_new(body, "limits", limits);
    }
    (void)json_object_del(body, "command");
    (void)json_object_del(body, "entrypoint");
    (void)json_object_del(limits, "timeout");
    (void)json_object_set_new(limits, "disk",
                              json_integer((json_int_t)hutch_spec_disk_bytes(spec)));
    (void)json_object_set_new(body, "name", json_string(name));
    *ret_body = body;
    return 0;
}

static int make_sandbox(const struct hutch_spec *spec, const char *name,
                        struct hutch_sandbox **ret_sandbox, struct hutch_error *err)
{
    const char *sent = remote_sent_workspace(spec);
    struct hutch_sandbox *sandbox = NULL;
    json_t *body = NULL, *answer = NULL;
    if (body_that_stays(spec, name, &body, err) < 0)
        return -(int)err->code;
    struct remote_call call =
        REMOTE_CALL(remote_path("/api/sandboxes/"), .method = "POST", .body = body);
    if (remote_do(&call, &answer, err) < 0 || remote_sandbox_take(answer, &sandbox, err) < 0)
        return -(int)err->code;
    *ret_sandbox = sandbox;
    return sent ? remote_send_directory(sandbox, sent, "/workspace", err) : 0;
}

/* ---- its command ----------------------------------------------------------------------------- */

static void append_texts(json_t *words, const json_t *list)
{
    size_t index;
    json_t *word;
    json_array_foreach(list, index, word)
    {
        if (json_is_string(word))
            (void)json_array_append(words, word);
    }
}

static void append_strlist(json_t *words, const struct hutch_strlist *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (*list->items[i] || list->count > 1)
            (void)json_array_append_new(words, json_string(list->items[i]));
}

/* What the image says: a run begins with its entrypoint, a command in a sandbox does not. */
static int image_config(const char *image, json_t **ret_config, struct hutch_error *err)
{
    remote_autojson json_t *answer = NULL;
    struct remote_call call =
        REMOTE_CALL(remote_path_add(remote_path("/api/images/inspect"), "reference", image));
    if (remote_do(&call, &answer, err) < 0)
        return -(int)err->code;
    json_t *config = json_object_get(answer, "config");
    json_t *inner = json_object_get(config, "config");
    *ret_config = json_incref(inner ? inner : config);
    return 0;
}

/* The sandbox's own spec says what its image is, also where a named sandbox gave it. */
static int command_of(const struct hutch_spec *spec, const struct hutch_sandbox *sandbox,
                      json_t **ret_words, struct hutch_error *err)
{
    remote_autojson json_t *config = NULL;
    const char *image = remote_text(json_object_get(sandbox->about, "spec"), "image");
    bool own_entrypoint = hutch_spec_is_set(spec, "entrypoint");
    if (image && image_config(image, &config, err) < 0)
        return -(int)err->code;
    json_t *words = json_array();
    if (own_entrypoint)
        append_strlist(words, &spec->entrypoint);
    else
        append_texts(words, json_object_get(config, "Entrypoint"));
    if (spec->command.count)
        append_strlist(words, &spec->command);
    else if (!own_entrypoint)
        append_texts(words, json_object_get(config, "Cmd"));
    if (json_array_size(words)) {
        *ret_words = words;
        return 0;
    }
    json_decref(words);
    return hutch_fail(err, HUTCH_E_INVALID, 0,
                      "no command to run; give one: hutch run -- echo hello");
}

static int execute(const struct hutch_spec *spec, const struct hutch_run_options *options,
                   struct hutch_sandbox *sandbox, const struct remote_guard *guard,
                   struct hutch_result **ret_result, struct hutch_error *err)
{
    struct hutch_exec_options inner = HUTCH_EXEC_OPTIONS_INIT;
    remote_autojson json_t *words = NULL;
    if (command_of(spec, sandbox, &words, err) < 0)
        return -(int)err->code;
    size_t count = json_array_size(words);
    hutch_autofree const char **argv = calloc(count + 1, sizeof(*argv));
    if (!argv)
        return hutch_fail_nomem(err);
    for (size_t i = 0; i < count; i++)
        argv[i] = json_string_value(json_array_get(words, i));
    inner.stdin_fd = options->stdin_fd;
    inner.stdout_fd = options->stdout_fd;
    inner.stderr_fd = options->stderr_fd;
    inner.cancel_fd = options->cancel_fd;
    inner.terminal_fd = options->terminal_fd;
    inner.resize_fd = options->resize_fd;
    inner.capture = options->capture;
    inner.timeout_ms = spec->limits.timeout_ms;
    const struct remote_exec exec = {.sandbox = sandbox,
                                     .argc = count,
                                     .argv = argv,
                                     .options = &inner,
                                     .output_bytes = spec->limits.output_bytes,
                                     .guard = guard};
    return remote_exec_run(&exec, ret_result, err);
}

static int run_by_sandbox(const struct hutch_spec *spec, const struct hutch_run_options *options,
                          struct hutch_result **ret_result, struct hutch_error *err)
{
    struct remote_guard guard = REMOTE_GUARD_INIT;
    struct hutch_sandbox *sandbox = NULL;
    struct hutch_error lost = HUTCH_ERROR_INIT;
    char name[32];
    make_name(name);
    if (remote_guard_start(&guard, err) < 0)
        return -(int)err->code;
    remote_guard_tell(&guard, REMOTE_GUARD_REMOVE, name, NULL);
    int failed = make_sandbox(spec, name, &sandbox, err);
    if (!failed && sandbox)
        failed = execute(spec, options, sandbox, &guard, ret_result, err);
    if (sandbox && hutch_sandbox_remove(sandbox, true, &lost) < 0 && !failed &&
        lost.code != HUTCH_E_NOT_FOUND) {
        hutch_result_free(*ret_result);
        *err = lost;
        failed = -(int)lost.code;
    }
    remote_guard_stop(&guard);
    hutch_sandbox_free(sandbox);
    return failed;
}

int hutch_run(const struct hutch_spec *spec, const struct hutch_run_options *options,
              struct hutch_result **ret_result, struct hutch_error *err)
{
    const struct hutch_run_options usual = HUTCH_RUN_OPTIONS_INIT;
    struct remote_output output;
    if (!options)
        options = &usual;
    bool needs_sandbox = options->terminal_fd >= 0 || remote_sent_workspace(spec) ||
                         (options->stdin_fd >= 0 && !has_small_stdin(options->stdin_fd));
    if (needs_sandbox)
        return run_by_sandbox(spec, options, ret_result, err);
    remote_output_start(&output, options->stdout_fd, options->stderr_fd, options->capture,
                        spec->limits.output_bytes);
    int failed = run_by_request(spec, options, &output, ret_result, err);
    remote_output_done(&output);
    return failed;
}
