/* SPDX-License-Identifier: Apache-2.0 */
#include "porter/counters.h"

#define ANSWER_PATIENCE_US 500000
/* Without these the engine is asked. */
#define NEEDED (FRAME_HAS_CPU | FRAME_HAS_MEMORY | FRAME_HAS_PIDS | FRAME_HAS_OOM_KILLS)

static bool has(const struct frame_counters *counters, uint32_t known)
{
    return (counters->known & known) == known;
}

static void write_usage(const struct frame_counters *counters, struct hutch_usage *usage)
{
    usage->cpu_us = counters->cpu_us;
    usage->memory_peak_bytes = counters->memory_peak_bytes;
    usage->has_memory_peak = has(counters, FRAME_HAS_MEMORY_PEAK);
    usage->pids_peak = counters->pids_peak;
    usage->has_pids_peak = has(counters, FRAME_HAS_PIDS_PEAK);
    usage->oom_kills = counters->oom_kills;
}

bool counters_ask(struct outer *outer, struct porter_answer *ret_answer)
{
    const struct frame_counters *counters = &outer->counters;
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    uint64_t until = report_clock_us() + ANSWER_PATIENCE_US;
    outer->has_counters = false;
    frame_put(&outer->tunnel.out, FRAME_COUNT, 0, NULL, 0);
    while (!outer->has_counters && !outer->stream_ended && !outer->is_broken &&
           report_clock_us() < until)
        if (outer_turn(outer, until, &ignored) < 0)
            return false;
    if (!outer->has_counters || !has(counters, NEEDED))
        return false;
    *ret_answer = (struct porter_answer){.oom_kills = counters->oom_kills,
                                         .pids_refused = counters->pids_refused,
                                         .memory_bytes = counters->memory_bytes,
                                         .pids = counters->pids,
                                         .disk_bytes = UINT64_MAX};
    write_usage(counters, &ret_answer->usage);
    return true;
}

void counters_add(const struct outer *outer, bool has_quota, struct porter_end *end)
{
    const struct frame_counters *counters = &outer->counters;
    if (!outer->has_counters)
        return;
    if (!end->has_cpu && has(counters, FRAME_HAS_CPU)) {
        uint64_t oom_kills = end->oom_kills;
        write_usage(counters, &end->usage);
        end->usage.oom_kills = oom_kills;
        end->has_cpu = true;
    }
    end->disk_full = counters->full & FRAME_MEMORY_IS_FULL ||
                     (has_quota && counters->full & FRAME_LAYER_IS_FULL);
    if (counters->oom_kills > end->oom_kills)
        end->oom_kills = end->usage.oom_kills = counters->oom_kills;
    if (counters->pids_refused > end->pids_refused)
        end->pids_refused = counters->pids_refused;
}
