/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/docker/build_log.h"

#include <stdio.h>
#include <string.h>

static void hear_line(void *context, const char *line)
{
    struct docker_build_log *log = context;
    (void)build_step_hear(&log->step, line);
    if (log->on_line)
        log->on_line(log->context, line);
}

/* Of an image that is fetched. Its bars are no lines of a log. */
static void hear_status(struct docker_build_log *log, const struct hutch_value *json,
                        const char *status)
{
    const char *id = hutch_value_text(hutch_value_get(json, "id"));
    if (hutch_value_get(json, "progress"))
        return;
    build_lines_end(&log->lines);
    if (id) {
        build_lines_take(&log->lines, id, strlen(id));
        build_lines_take(&log->lines, ": ", 2);
    }
    build_lines_take(&log->lines, status, strlen(status));
    build_lines_end(&log->lines);
}

/* As one line without an end. */
static void keep_problem(struct docker_build_log *log, const char *error)
{
    (void)snprintf(log->problem, sizeof(log->problem), "%s", build_step_cause(error));
    for (char *at = log->problem; *at; at++)
        if ((unsigned char)*at < ' ')
            *at = ' ';
    for (size_t length = strlen(log->problem); length && log->problem[length - 1] == ' ';)
        log->problem[--length] = '\0';
    if (!log->problem[0])
        (void)snprintf(log->problem, sizeof(log->problem), "the engine does not say why");
}

static void hear(void *context, const struct hutch_value *json)
{
    struct docker_build_log *log = context;
    const char *stream = hutch_value_text(hutch_value_get(json, "stream"));
    const char *status = hutch_value_text(hutch_value_get(json, "status"));
    const char *error = docker_progress_error(json);
    if (stream)
        build_lines_take(&log->lines, stream, strlen(stream));
    if (status)
        hear_status(log, json, status);
    if (error)
        keep_problem(log, error);
}

void docker_build_log_begin(struct docker_build_log *log, build_line_fn *on_line, void *context)
{
    *log = (struct docker_build_log){
        .progress = DOCKER_PROGRESS(hear, log),
        .lines = {.on_line = hear_line, .context = log},
        .on_line = on_line,
        .context = context,
    };
}

void docker_build_log_end(struct docker_build_log *log)
{
    docker_progress_end(&log->progress);
    build_lines_end(&log->lines);
}
