/* SPDX-License-Identifier: Apache-2.0 */
/* The public entry points for what sandboxes use. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/native/question.h"
#include "hutch/sandbox.h"
#include "util/own.h"

#define STATS_FIELD(member)                           \
    {                                                 \
#member, offsetof(struct hutch_stats, member) \
    }

static const struct {
    const char *key;
    size_t offset;
} numbers[] = {
    STATS_FIELD(time_us),
    STATS_FIELD(cpu_us),
    STATS_FIELD(cpus_limit_milli),
    STATS_FIELD(memory_bytes),
    STATS_FIELD(memory_peak_bytes),
    STATS_FIELD(memory_limit_bytes),
    STATS_FIELD(pids),
    STATS_FIELD(pids_peak),
    STATS_FIELD(pids_limit),
    STATS_FIELD(disk_bytes),
    STATS_FIELD(disk_limit_bytes),
    STATS_FIELD(oom_kills),
    STATS_FIELD(running),
};

static void read_stats(const struct wire_message *answer, struct hutch_stats *ret_stats)
{
    const char *command = wire_get(answer, "command");
    for (size_t i = 0; i < HUTCH_COUNT(numbers); i++)
        *(uint64_t *)((char *)ret_stats + numbers[i].offset) =
            wire_number(answer, numbers[i].key, HUTCH_STATS_UNKNOWN);
    (void)snprintf(ret_stats->command, sizeof(ret_stats->command), "%s", command ? command : "");
}

int hutch_sandbox_stats_many(size_t count, struct hutch_sandbox *const *sandboxes,
                             uint64_t timeout_ms, struct hutch_stats *ret_stats, int *ret_status,
                             struct hutch_error *err)
{
    struct wire_message request = WIRE_MESSAGE_INIT;
    struct hutch_error scratch = HUTCH_ERROR_INIT;
    hutch_autofree struct question *questions = calloc(count ? count : 1, sizeof(*questions));
    if (!questions)
        return hutch_fail_nomem(err ? err : &scratch);
    for (size_t i = 0; i < count; i++)
        questions[i].sandbox = sandboxes[i];
    wire_begin(&request, ret_stats ? "stats" : "ping");
    questions_ask(questions, count, &request, timeout_ms);
    hutch_buf_done(&request.text);
    for (size_t i = 0; i < count; i++) {
        ret_status[i] = questions[i].status;
        if (questions[i].status < 0)
            continue;
        if (ret_stats)
            read_stats(&questions[i].answer, &ret_stats[i]);
        wire_done(&questions[i].answer);
    }
    return 0;
}

int hutch_sandbox_stats(struct hutch_sandbox *sandbox, struct hutch_stats *ret_stats,
                        struct hutch_error *err)
{
    struct wire_message request = WIRE_MESSAGE_INIT, answer;
    struct hutch_error scratch = HUTCH_ERROR_INIT;
    wire_begin(&request, "stats");
    int status = question_ask(sandbox, &request, &answer, err ? err : &scratch);
    hutch_buf_done(&request.text);
    if (status < 0)
        return status;
    read_stats(&answer, ret_stats);
    wire_done(&answer);
    return 0;
}
