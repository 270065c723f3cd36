/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "backend/docker/build.h"
#include "image/reference.h"
#include "util/own.h"

/* hutch.local/sandbox/NAME:WHERE-WHAT, see libhutch/named.c: all of one directory begin alike. */
static bool is_older(const char *tag, const char *reference)
{
    const char *what = strrchr(reference, '-');
    return what && !strncmp(tag, reference, (size_t)(what - reference) + 1) &&
           strcmp(tag, reference) != 0;
}

static void remove_tags(struct docker_engine *engine, const struct hutch_value *tags,
                        const char *reference)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    for (size_t i = 0; tags && tags->type == HUTCH_VALUE_ARRAY && i < tags->list.count; i++) {
        const char *tag = hutch_value_text(&tags->list.items[i]);
        struct hutch_buf path = HUTCH_BUF(4096);
        if (!tag || !is_older(tag, reference))
            continue;
        hutch_buf_puts(&path, "/images/");
        docker_add_escaped(&path, tag);
        if (!path.failed) /* one that a container has stays until the next build */
            (void)!docker_do(engine, "DELETE", path.data, NULL, &ignored);
        hutch_buf_done(&path);
    }
}

/* That one stays when something goes wrong is no failure of the sandbox that is there now. */
void docker_build_remove_older(struct docker_engine *engine, const char *reference)
{
    struct docker_answer answer = DOCKER_ANSWER_INIT;
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    struct hutch_buf path = HUTCH_BUF(4096);
    char filter[IMAGE_REFERENCE_BYTES + 32];
    (void)snprintf(filter, sizeof(filter), "{\"reference\":[\"%.*s\"]}",
                   (int)(strrchr(reference, ':') - reference), reference);
    hutch_buf_puts(&path, "/images/json?filters=");
    docker_add_escaped(&path, filter);
    if (!path.failed && docker_get(engine, path.data, &answer, &ignored) == 0 &&
        answer.json.type == HUTCH_VALUE_ARRAY)
        for (size_t i = 0; i < answer.json.list.count; i++)
            remove_tags(engine, hutch_value_get(&answer.json.list.items[i], "RepoTags"), reference);
    docker_answer_done(&answer);
    hutch_buf_done(&path);
}
