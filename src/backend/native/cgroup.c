/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/native/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "util/fs.h"
#include "util/own.h"

/* Who may use one of two processors can take both of them for half a period: others wait so long.
 * The kernel's own default is ten times as long; a group's share of a period is at least the
 * smallest that the kernel takes. */
#define CPU_PERIOD_US UINT64_C(10000)
#define CPU_SMALLEST_US UINT64_C(1000)

/* One file to write for a limit. A file that the kernel does not have is an error unless optional.
 */
struct limit_file {
    enum cgroup_controller controller;
    const char *file;
    enum {
        VALUE_MEMORY,
        VALUE_ZERO,
        VALUE_PIDS,
        VALUE_CPU_MAX,
        VALUE_CPU_PERIOD,
        VALUE_CPU_QUOTA
    } value;
    bool optional;
};

struct cgroup_version {
    const char *members; /* where a process writes "0" to enter */
    const char *cpu_file;
    const char *cpu_unlimited;
    struct limit_file limits[6];
};

/* The two versions, side by side. memsw is limited after memory since it may not be below it; where
 * the kernel does not account swap (v1 without swapaccount) there is none to use or the doctor says
 * so. The quota comes before a period that may be shorter: between the two writes a group must not
 * have more than its parent. */
static const struct cgroup_version versions[] = {
    [1] =
        {
            .members = "tasks",
            .cpu_file = "cpu.cfs_quota_us",
            .cpu_unlimited = "-1",
            .limits = {{CGROUP_MEMORY, "memory.limit_in_bytes", VALUE_MEMORY, false},
                       {CGROUP_MEMORY, "memory.memsw.limit_in_bytes", VALUE_MEMORY, true},
                       {CGROUP_PIDS, "pids.max", VALUE_PIDS, false},
                       {CGROUP_CPU, "cpu.cfs_quota_us", VALUE_CPU_QUOTA, false},
                       {CGROUP_CPU, "cpu.cfs_period_us", VALUE_CPU_PERIOD, false}},
        },
    [2] =
        {
            .members = "cgroup.procs",
            .cpu_file = "cpu.max",
            .cpu_unlimited = "max",
            .limits = {{CGROUP_MEMORY, "memory.max", VALUE_MEMORY, false},
                       {CGROUP_MEMORY, "memory.swap.max", VALUE_ZERO, true},
                       {CGROUP_PIDS, "pids.max", VALUE_PIDS, false},
                       {CGROUP_CPU, "cpu.max", VALUE_CPU_MAX, false}},
        },
};

static const struct {
    enum cgroup_controller controller;
    hutch_promise_set promise;
} promise_controllers[] = {
    {CGROUP_MEMORY, HUTCH_PROMISE_BIT(MEMORY)},
    {CGROUP_CPU, HUTCH_PROMISE_BIT(CPUS)},
    {CGROUP_PIDS, HUTCH_PROMISE_BIT(PIDS)},
};

static unsigned controllers_for(hutch_promise_set wanted)
{
    unsigned controllers = 0;
    for (size_t i = 0; i < HUTCH_COUNT(promise_controllers); i++)
        if (wanted & promise_controllers[i].promise)
            controllers |= 1u << promise_controllers[i].controller;
    return controllers;
}

void cgroup_name(struct cgroup *cg, const struct cgroup_layout *layout, const char *id,
                 hutch_promise_set wanted, bool counts_time)
{
    unsigned limiting = controllers_for(wanted);
    *cg = (struct cgroup){0};
    for (size_t i = 0; i < layout->count; i++) {
        const struct cgroup_parent *parent = &layout->parents[i];
        unsigned controllers = limiting;
        if (counts_time || parent->version == 2) /* on v1 that may take a group of its own */
            controllers |= 1u << CGROUP_CORE;
        if (!(parent->controllers & controllers))
            continue;
        struct cgroup_group *group = &cg->groups[cg->count++];
        (void)snprintf(group->path, sizeof(group->path), "%s/hutch-%s", parent->path, id);
        group->parent = group->dir = HUTCH_NO_FD;
        group->made = false;
        group->version = parent->version;
        group->controllers = parent->controllers & controllers;
    }
}

static void format_value(const struct limit_file *file, const struct hutch_limits *limits,
                         char *text, size_t size)
{
    uint64_t period_us = CPU_PERIOD_US, quota_us = limits->cpus_milli * CPU_PERIOD_US / 1000;
    if (quota_us < CPU_SMALLEST_US && limits->cpus_milli) {
        quota_us = CPU_SMALLEST_US;
        period_us = CPU_SMALLEST_US * 1000 / limits->cpus_milli;
    }
    switch (file->value) {
    case VALUE_MEMORY:
        (void)snprintf(text, size, "%" PRIu64, limits->memory_bytes);
        break;
    case VALUE_ZERO:
        (void)snprintf(text, size, "0");
        break;
    case VALUE_PIDS: /* PID 1 is hutch's own: the command gets the number it was promised */
        (void)snprintf(text, size, "%" PRIu64, limits->pids + 1);
        break;
    case VALUE_CPU_MAX:
        (void)snprintf(text, size, "%" PRIu64 " %" PRIu64, quota_us, period_us);
        break;
    case VALUE_CPU_PERIOD:
        (void)snprintf(text, size, "%" PRIu64, period_us);
        break;
    case VALUE_CPU_QUOTA:
        (void)snprintf(text, size, "%" PRIu64, quota_us);
        break;
    }
}

static int set_limits(const struct cgroup_group *group, const struct hutch_limits *limits,
                      struct hutch_error *err)
{
    const struct cgroup_version *version = &versions[group->version];
    for (size_t i = 0; i < HUTCH_COUNT(version->limits) && version->limits[i].file; i++) {
        const struct limit_file *file = &version->limits[i];
        char text[64];
        if (!(group->controllers & 1u << file->controller))
            continue;
        format_value(file, limits, text, sizeof(text));
        if (hutch_write_at(group->dir, file->file, text) == 0)
            continue;
        if (file->optional && errno == ENOENT)
            continue;
        return hutch_fail(err, HUTCH_E_UNENFORCEABLE, errno, "write '%s' to '%s/%s': %s", text,
                          group->path, file->file, strerror(errno));
    }
    return 0;
}

/* Below /sys every step of a path waits for whoever adds or removes a network device. */
static int make_group(struct cgroup_group *group, struct hutch_error *err)
{
    char above[sizeof(group->path)];
    const char *name = strrchr(group->path, '/') + 1;
    (void)snprintf(above, sizeof(above), "%.*s", (int)(name - group->path), group->path);
    group->parent = open(above, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (group->parent < 0 || mkdirat(group->parent, name, 0755) < 0)
        return hutch_fail_errno(err, errno, "make cgroup '%s'", group->path);
    group->made = true;
    group->dir = openat(group->parent, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return group->dir < 0 ? hutch_fail_errno(err, errno, "open cgroup '%s'", group->path) : 0;
}

int cgroup_create(struct cgroup *cg, int version, const struct hutch_limits *limits,
                  struct hutch_error *err)
{
    for (size_t i = 0; i < cg->count; i++) {
        struct cgroup_group *group = &cg->groups[i];
        if (group->version != version)
            continue;
        if (make_group(group, err) < 0 || set_limits(group, limits, err) < 0)
            return -(int)err->code;
    }
    return 0;
}

int cgroup_clone_target(const struct cgroup *cg)
{
    for (size_t i = 0; i < cg->count; i++)
        if (cg->groups[i].version == 2)
            return cg->groups[i].dir;
    return HUTCH_NO_FD;
}

int cgroup_open_members(const struct cgroup *cg, int *fds, size_t *ret_count,
                        struct hutch_error *err)
{
    *ret_count = 0;
    for (size_t i = 0; i < cg->count; i++) {
        const struct cgroup_group *group = &cg->groups[i];
        if (group->version != 1)
            continue;
        int fd = openat(group->dir, versions[1].members, O_WRONLY | O_CLOEXEC);
        if (fd < 0)
            return hutch_fail_errno(err, errno, "open '%s/%s'", group->path, versions[1].members);
        fds[(*ret_count)++] = fd;
    }
    return 0;
}

/* Dying takes processor time (exit, unmapping, namespaces): a hundred processes that share 1 % of a
 * processor would need seconds. From here on nothing of theirs runs any more but that. */
static void lift_cpu_limit(const struct cgroup_group *group)
{
    const struct cgroup_version *version = &versions[group->version];
    if (group->dir >= 0 && group->controllers & 1u << CGROUP_CPU)
        (void)hutch_write_at(group->dir, version->cpu_file, version->cpu_unlimited);
}

void cgroup_kill(const struct cgroup *cg)
{
    for (size_t i = 0; i < cg->count; i++)
        if (cg->groups[i].version == 2 && cg->groups[i].dir >= 0)
            (void)hutch_write_at(cg->groups[i].dir, "cgroup.kill", "1");
    for (size_t i = 0; i < cg->count; i++)
        lift_cpu_limit(&cg->groups[i]);
}

void cgroup_lift_cpu_limit(const struct cgroup *cg)
{
    for (size_t i = 0; i < cg->count; i++)
        lift_cpu_limit(&cg->groups[i]);
}

/* v1: the limit of memory and swap together may never be below that of memory, so it has to go up
 * first; going down it comes last, as in the table, and this write fails. */
static void raise_swap_limit(const struct cgroup_group *group, const struct hutch_limits *limits)
{
    char text[24];
    if (group->version == 2 || !(group->controllers & 1u << CGROUP_MEMORY))
        return;
    (void)snprintf(text, sizeof(text), "%" PRIu64, limits->memory_bytes);
    (void)hutch_write_at(group->dir, "memory.memsw.limit_in_bytes", text);
}

int cgroup_set_limits(const struct cgroup *cg, const struct hutch_limits *limits,
                      struct hutch_error *err)
{
    for (size_t i = 0; i < cg->count; i++) {
        raise_swap_limit(&cg->groups[i], limits);
        if (set_limits(&cg->groups[i], limits, err) < 0)
            return -(int)err->code;
    }
    return 0;
}

bool cgroup_has(const struct cgroup *cg, enum cgroup_controller controller)
{
    for (size_t i = 0; i < cg->count; i++)
        if (cg->groups[i].controllers & 1u << controller)
            return true;
    return false;
}
