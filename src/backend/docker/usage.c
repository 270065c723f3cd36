/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine has counted. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "backend/docker/container.h"
#include "util/own.h"

static uint64_t number_at(const struct hutch_value *object, const char *key)
{
    const struct hutch_value *member = hutch_value_get(object, key);
    return member && member->type == HUTCH_VALUE_INTEGER && member->integer > 0
               ? (uint64_t)member->integer
               : 0;
}

static void read_stats(const struct hutch_value *json, struct porter_answer *answer)
{
    const struct hutch_value *memory = hutch_value_get(json, "memory_stats");
    const struct hutch_value *cpu =
        hutch_value_get(hutch_value_get(json, "cpu_stats"), "cpu_usage");
    uint64_t peak = number_at(memory, "max_usage");
    answer->usage.cpu_us = number_at(cpu, "total_usage") / 1000;
    answer->usage.memory_peak_bytes = peak;
    answer->usage.has_memory_peak = peak > 0;
    answer->memory_bytes =
        hutch_value_get(memory, "usage") ? number_at(memory, "usage") : UINT64_MAX;
    answer->pids = number_at(hutch_value_get(json, "pids_stats"), "current");
    answer->disk_bytes = UINT64_MAX;
}

static int count_lines(void *context, const void *data, size_t length)
{
    uint64_t *count = context;
    const char *text = data;
    for (const char *at = text; (at = memchr(at, '\n', length - (size_t)(at - text))); at++)
        (*count)++;
    return 0;
}

/* How often the kernel has killed for want of memory: the engine keeps what has happened. */
static int count_ooms(struct container *container, uint64_t *ret_count, struct hutch_error *err)
{
    struct docker_answer answer = DOCKER_ANSWER_INIT;
    struct hutch_buf path = HUTCH_BUF(4096);
    char filters[160];
    struct timespec now;
    uint64_t count = 0;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)snprintf(filters, sizeof(filters), "{\"container\":[\"%s\"],\"event\":[\"oom\"]}",
                   container->name);
    hutch_buf_printf(&path, "/events?since=%llu&until=%llu.%09ld&filters=",
                     (unsigned long long)container->begin_s, (unsigned long long)now.tv_sec,
                     now.tv_nsec);
    docker_add_escaped(&path, filters);
    const struct docker_request request = {
        .method = "GET", .path = path.data, .sink = count_lines, .context = &count};
    int status = docker_ask(container->engine, &request, &answer, err);
    if (status == 0)
        status = docker_check(&answer, err);
    if (status == 0)
        *ret_count = count;
    docker_answer_done(&answer);
    hutch_buf_done(&path);
    return status;
}

int docker_container_stats(struct container *container, struct porter_answer *ret_answer,
                           struct hutch_error *err)
{
    char path[CONTAINER_PATH_BYTES];
    struct docker_answer answer = DOCKER_ANSWER_INIT;
    struct porter_answer stats = {0};
    docker_container_path(container, "/stats?stream=false&one-shot=true", path, sizeof(path));
    int status = docker_get(container->engine, path, &answer, err);
    if (status == 0) {
        read_stats(&answer.json, &stats);
        status = count_ooms(container, &stats.oom_kills, err);
    }
    if (status == 0) {
        stats.usage.oom_kills = stats.oom_kills;
        *ret_answer = stats;
    }
    docker_answer_done(&answer);
    return status;
}
