/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a container: its processes, what comes out of it, itself. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend/docker/container.h"
#include "backend/docker/transfer.h"
#include "util/own.h"

enum {
    WAIT_SECONDS = 30,
    REMOVE_TRIES = 50, /* while the engine itself is started again */
    REMOVE_PAUSE_MS = 200,
    CLEANUP_LOOKS = 250,
    CLEANUP_PAUSE_MS = 20,
};

static bool is_true(const struct hutch_value *object, const char *key)
{
    const struct hutch_value *member = hutch_value_get(object, key);
    return member && member->type == HUTCH_VALUE_BOOL && member->boolean;
}

static int inspect(struct container *container, struct docker_answer *ret_answer,
                   struct hutch_error *err)
{
    char path[CONTAINER_PATH_BYTES];
    docker_container_path(container, "/json", path, sizeof(path));
    return docker_get(container->engine, path, ret_answer, err);
}

/* ---- ending ---- */

static int kill_all(struct container *container, struct hutch_error *err)
{
    char path[CONTAINER_PATH_BYTES];
    if (container->is_paused) {
        docker_container_path(container, "/unpause", path, sizeof(path));
        if (docker_do(container->engine, "POST", path, NULL, err) == -HUTCH_E_UNAVAILABLE)
            return -(int)err->code;
        container->is_paused = false;
    }
    docker_container_path(container, "/kill?signal=SIGKILL", path, sizeof(path));
    return docker_do(container->engine, "POST", path, NULL, err);
}

static int wait_for_end(struct container *container, struct hutch_error *err)
{
    char path[CONTAINER_PATH_BYTES];
    struct docker_answer answer = DOCKER_ANSWER_INIT;
    docker_container_path(container, "/wait", path, sizeof(path));
    const struct docker_request request = {
        .method = "POST", .path = path, .patience_s = WAIT_SECONDS};
    int status = docker_ask(container->engine, &request, &answer, err);
    if (status == 0)
        status = docker_check(&answer, err);
    docker_answer_done(&answer);
    return status;
}

static int read_end(struct container *container, struct porter_end *end, bool may_run,
                    struct hutch_error *err)
{
    struct docker_answer answer = DOCKER_ANSWER_INIT;
    int status = inspect(container, &answer, err);
    if (status == 0) {
        const struct hutch_value *state = hutch_value_get(&answer.json, "State");
        if (is_true(state, "OOMKilled") && !end->oom_kills)
            end->oom_kills = 1;
        if (is_true(state, "Running"))
            status =
                may_run ? 1
                        : hutch_fail(err, HUTCH_E_SYSTEM, 0,
                                     "container '%s' runs although it was killed", container->name);
    }
    docker_answer_done(&answer);
    return status;
}

/* What it has used is known as long as it is there. */
static void read_usage(struct container *container, struct porter_end *end)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    struct porter_answer answer = {0};
    if (docker_container_stats(container, &answer, &ignored) < 0)
        return;
    end->usage = answer.usage;
    end->oom_kills = answer.oom_kills;
    end->has_cpu = answer.usage.cpu_us > 0;
}

/* Podman calls one that has ended "stopped" until it has cleaned up after it: till then its files
 * can be had by nobody, and it cannot be started again. */
static int await_cleanup(struct container *container, struct hutch_error *err)
{
    const struct timespec pause = {.tv_nsec = CLEANUP_PAUSE_MS * 1000000L};
    bool is_ready = !container->engine->version.is_podman;
    for (int i = 0; i < CLEANUP_LOOKS && !is_ready; i++) {
        struct docker_answer answer = DOCKER_ANSWER_INIT;
        int status = inspect(container, &answer, err);
        const struct hutch_value *state = hutch_value_get(&answer.json, "State");
        const char *word = hutch_value_text(hutch_value_get(state, "Status"));
        is_ready = word && !strcmp(word, "exited");
        docker_answer_done(&answer);
        if (status < 0)
            return status;
        if (!is_ready)
            (void)nanosleep(&pause, NULL);
    }
    return 0;
}

/* Engines differ in what they say of one that has ended by itself before it could be killed: what
 * counts is that it has. */
static int kill_and_wait(struct container *container, struct porter_end *end,
                         struct hutch_error *err)
{
    struct hutch_error refusal = HUTCH_ERROR_INIT;
    int killed = kill_all(container, &refusal);
    int status = read_end(container, end, true, err);
    if (status > 0 && killed < 0 && killed != -HUTCH_E_CONFLICT) {
        *err = refusal;
        return killed;
    }
    if (status > 0)
        status = wait_for_end(container, err) < 0 ? -(int)err->code
                                                  : read_end(container, end, false, err);
    return status < 0 ? status : await_cleanup(container, err);
}

int docker_container_end(struct container *container, struct porter_end *ret_end,
                         struct hutch_error *err)
{
    struct porter_end end = {0};
    if (!hijack_has_ended(container->hijack))
        read_usage(container, &end);
    int status = kill_and_wait(container, &end, err);
    if (status < 0)
        return status;
    container->has_ended = true;
    end.usage.oom_kills = end.oom_kills;
    *ret_end = end;
    if (!container->returns)
        return 0;
    container->engine->busy_fd = docker_keeper_socket();
    return docker_copy_out(container->engine, container->name,
                           container->has_bare_volumes ? PLAN_WORKSPACE "/." : PLAN_WORKSPACE,
                           container->returns, container->since_ns, err);
}

/* ---- telling ---- */

/* The last line of what was said, without what a terminal would take for more than text. */
static void copy_line(char *ret_text, size_t size, const char *text)
{
    size_t length = strlen(text);
    while (length && strchr(" \r\n", text[length - 1]))
        length--;
    size_t begin = length;
    while (begin && text[begin - 1] != '\n')
        begin--;
    (void)snprintf(ret_text, size, "%.*s", (int)(length - begin), text + begin);
    for (char *at = ret_text; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = '?';
}

void docker_container_explain(struct container *container, char *ret_text, size_t size)
{
    struct hutch_error failure = HUTCH_ERROR_INIT;
    struct docker_answer answer = DOCKER_ANSWER_INIT;
    ret_text[0] = '\0';
    if (inspect(container, &answer, &failure) < 0) {
        copy_line(ret_text, size, failure.msg);
    } else {
        const struct hutch_value *state = hutch_value_get(&answer.json, "State");
        const struct hutch_value *code = hutch_value_get(state, "ExitCode");
        const char *error = hutch_value_text(hutch_value_get(state, "Error"));
        if (is_true(state, "OOMKilled"))
            (void)snprintf(ret_text, size, "its memory was used up");
        else if (error && *error)
            copy_line(ret_text, size, error);
        else if (container->hijack && *hijack_errors(container->hijack))
            copy_line(ret_text, size, hijack_errors(container->hijack));
        else if (code && code->type == HUTCH_VALUE_INTEGER && !is_true(state, "Running"))
            (void)snprintf(ret_text, size, "its first process ended with status %lld",
                           (long long)code->integer);
    }
    docker_answer_done(&answer);
}

int docker_container_artifacts(struct container *container, int *ret_directory,
                               char ret_place[PORTER_PLACE_BYTES], struct hutch_error *err)
{
    container->engine->busy_fd = docker_keeper_socket();
    int status =
        docker_fetch(container->engine, container->name,
                     container->has_bare_volumes ? PLAN_ARTIFACTS "/." : PLAN_ARTIFACTS,
                     &container->artifacts_most, ret_place, PORTER_PLACE_BYTES, ret_directory, err);
    return status < 0 ? hutch_wrap(err, "bring the artifacts out: ") : 0;
}

/* ---- removing ---- */

/* An engine that is being started again has kept it, and so it is asked for a while. */
int docker_container_remove(struct docker_engine *engine, const char *name, struct hutch_error *err)
{
    char path[CONTAINER_PATH_BYTES];
    const struct timespec pause = {.tv_nsec = REMOVE_PAUSE_MS * 1000000L};
    int status = 0;
    (void)snprintf(path, sizeof(path), "/containers/%s?force=1&v=1", name);
    for (int i = 0; i < REMOVE_TRIES; i++) {
        status = docker_do(engine, "DELETE", path, NULL, err);
        if (status == -HUTCH_E_NOT_FOUND)
            return 0;
        /* a removal that is under way is a conflict too */
        if (status != -HUTCH_E_UNAVAILABLE && status != -HUTCH_E_CONFLICT)
            break;
        (void)nanosleep(&pause, NULL);
    }
    return status < 0
               ? hutch_wrap(err, "remove container '%s', which 'hutch gc' does later: ", name)
               : 0;
}

int docker_container_release(struct container *container, bool keep, struct hutch_error *err)
{
    int status = 0;
    if (container->is_made && !keep)
        status = docker_container_remove(container->engine, container->name, err);
    if (container->is_made && !keep && status == 0)
        docker_endpoint_forget(container->name + strlen("hutch-"));
    docker_container_free(container);
    return status;
}
