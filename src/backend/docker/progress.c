/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/docker/progress.h"

#include <string.h>

#include "core/json_in.h"
#include "util/own.h"

static void end_line(struct docker_progress *progress)
{
    hutch_cleanup(hutch_value_done) struct hutch_value json = {0};
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    if (progress->line.length &&
        hutch_json_parse(progress->line.data, progress->line.length, &json, &ignored) == 0)
        progress->on_value(progress->context, &json);
    progress->line.length = 0;
}

int docker_progress_feed(void *context, const void *data, size_t length)
{
    struct docker_progress *progress = context;
    const char *text = data;
    while (length) {
        const char *end = memchr(text, '\n', length);
        size_t piece = end ? (size_t)(end - text) : length;
        hutch_buf_append(&progress->line, text, piece);
        if (progress->line.failed)
            return -1;
        if (end) {
            end_line(progress);
            piece++;
        }
        text += piece;
        length -= piece;
    }
    return 0;
}

void docker_progress_end(struct docker_progress *progress)
{
    if (!progress->line.failed)
        end_line(progress);
    hutch_buf_done(&progress->line);
}

const char *docker_progress_error(const struct hutch_value *json)
{
    const char *message =
        hutch_value_text(hutch_value_get(hutch_value_get(json, "errorDetail"), "message"));
    return message && *message ? message : hutch_value_text(hutch_value_get(json, "error"));
}
