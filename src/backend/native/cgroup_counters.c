/* SPDX-License-Identifier: Apache-2.0 */
/* What groups count. */
#include <fcntl.h>
#include <unistd.h>

#include "backend/native/cgroup.h"
#include "util/fs.h"
#include "util/own.h"

struct counter_file {
    enum cgroup_controller controller;
    const char *file;
    const char *key;
    uint64_t divisor; /* 0: none */
};

/* The two versions, side by side. */
static const struct counter_file counters[][CGROUP_COUNTERS] = {
    [1] = {[CGROUP_CPU_US] = {CGROUP_CORE, "cpuacct.usage", NULL, 1000},
           [CGROUP_MEMORY_PEAK] = {CGROUP_MEMORY, "memory.max_usage_in_bytes", NULL, 0},
           [CGROUP_PIDS_PEAK] = {CGROUP_PIDS, "pids.peak", NULL, 0},
           [CGROUP_OOM_KILLS] = {CGROUP_MEMORY, "memory.oom_control", "oom_kill", 0},
           [CGROUP_PIDS_REFUSED] = {CGROUP_PIDS, "pids.events", "max", 0},
           [CGROUP_MEMORY_NOW] = {CGROUP_MEMORY, "memory.usage_in_bytes", NULL, 0},
           [CGROUP_PIDS_NOW] = {CGROUP_PIDS, "pids.current", NULL, 0}},
    [2] = {[CGROUP_CPU_US] = {CGROUP_CORE, "cpu.stat", "usage_usec", 0},
           [CGROUP_MEMORY_PEAK] = {CGROUP_MEMORY, "memory.peak", NULL, 0},
           [CGROUP_PIDS_PEAK] = {CGROUP_PIDS, "pids.peak", NULL, 0},
           [CGROUP_OOM_KILLS] = {CGROUP_MEMORY, "memory.events", "oom_kill", 0},
           [CGROUP_PIDS_REFUSED] = {CGROUP_PIDS, "pids.events", "max", 0},
           [CGROUP_MEMORY_NOW] = {CGROUP_MEMORY, "memory.current", NULL, 0},
           [CGROUP_PIDS_NOW] = {CGROUP_PIDS, "pids.current", NULL, 0}},
};

/* NULL when this group does not count it. */
static const struct counter_file *file_of(const struct cgroup_group *group,
                                          enum cgroup_counter counter)
{
    const struct counter_file *file = &counters[group->version][counter];
    return group->dir >= 0 && group->controllers & 1u << file->controller ? file : NULL;
}

static uint64_t in_its_unit(const struct counter_file *file, uint64_t value)
{
    return file->divisor ? value / file->divisor : value;
}

static bool read_counter(const struct cgroup *cg, enum cgroup_counter counter, uint64_t *ret_value)
{
    for (size_t i = 0; i < cg->count; i++) {
        const struct counter_file *file = file_of(&cg->groups[i], counter);
        if (file && hutch_read_number_at(cg->groups[i].dir, file->file, file->key, ret_value)) {
            *ret_value = in_its_unit(file, *ret_value);
            return true;
        }
    }
    return false;
}

uint64_t cgroup_counter(const struct cgroup *cg, enum cgroup_counter counter)
{
    uint64_t value = 0;
    return read_counter(cg, counter, &value) ? value : 0;
}

static void open_watch(const struct cgroup *cg, enum cgroup_counter counter,
                       struct cgroup_watch *watch)
{
    for (size_t i = 0; i < cg->count && watch->fd <= 0; i++) {
        const struct counter_file *file = file_of(&cg->groups[i], counter);
        if (file)
            watch->fd = openat(cg->groups[i].dir, file->file, O_RDONLY | O_CLOEXEC);
        watch->version = cg->groups[i].version;
    }
}

bool cgroup_watch(struct cgroup *cg, enum cgroup_counter counter, uint64_t *ret_value)
{
    char text[256]; /* what is looked for is in the first lines */
    struct cgroup_watch *watch = &cg->watches[counter];
    if (watch->fd <= 0)
        open_watch(cg, counter, watch);
    ssize_t length = watch->fd > 0 ? pread(watch->fd, text, sizeof(text) - 1, 0) : -1;
    if (length < 0)
        return false;
    text[length] = '\0';
    const struct counter_file *file = &counters[watch->version][counter];
    if (!hutch_find_number(text, file->key, ret_value))
        return false;
    *ret_value = in_its_unit(file, *ret_value);
    return true;
}

void cgroup_watch_none(struct cgroup *cg)
{
    for (size_t i = 0; i < CGROUP_COUNTERS; i++)
        if (cg->watches[i].fd > 0)
            hutch_fd_close(&cg->watches[i].fd);
}

void cgroup_read_usage(const struct cgroup *cg, struct hutch_usage *usage)
{
    (void)read_counter(cg, CGROUP_CPU_US, &usage->cpu_us);
    usage->has_memory_peak = read_counter(cg, CGROUP_MEMORY_PEAK, &usage->memory_peak_bytes);
    usage->has_pids_peak = read_counter(cg, CGROUP_PIDS_PEAK, &usage->pids_peak);
    if (usage->has_pids_peak && usage->pids_peak > 0)
        usage->pids_peak--; /* PID 1 is hutch's own */
}

void cgroup_read_events(const struct cgroup *cg, struct cgroup_events *events)
{
    *events = (struct cgroup_events){0};
    (void)read_counter(cg, CGROUP_OOM_KILLS, &events->oom_kills);
    (void)read_counter(cg, CGROUP_PIDS_REFUSED, &events->pids_refused);
}

void cgroup_read_now(const struct cgroup *cg, struct cgroup_now *now)
{
    *now = (struct cgroup_now){0};
    (void)read_counter(cg, CGROUP_MEMORY_NOW, &now->memory_bytes);
    if (read_counter(cg, CGROUP_PIDS_NOW, &now->pids) && now->pids)
        now->pids--; /* PID 1 is hutch's own */
}
