/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/docker/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/fs.h"
#include "util/own.h"

static bool is_true(const struct hutch_value *info, const char *key)
{
    const struct hutch_value *member = hutch_value_get(info, key);
    return member && member->type == HUTCH_VALUE_BOOL && member->boolean;
}

static void copy_text(char *slot, size_t size, const char *text)
{
    (void)snprintf(slot, size, "%s", text ? text : "");
}

/* DriverStatus is a list of pairs. */
static const char *driver_status(const struct hutch_value *info, const char *name)
{
    const struct hutch_value *list = hutch_value_get(info, "DriverStatus");
    for (size_t i = 0; list && list->type == HUTCH_VALUE_ARRAY && i < list->list.count; i++) {
        const struct hutch_value *pair = &list->list.items[i];
        if (pair->type != HUTCH_VALUE_ARRAY || pair->list.count != 2)
            continue;
        const char *key = hutch_value_text(&pair->list.items[0]);
        if (key && !strcmp(key, name))
            return hutch_value_text(&pair->list.items[1]);
    }
    return NULL;
}

static bool has_security(const struct hutch_value *info, const char *name)
{
    const struct hutch_value *list = hutch_value_get(info, "SecurityOptions");
    for (size_t i = 0; list && list->type == HUTCH_VALUE_ARRAY && i < list->list.count; i++) {
        const char *text = hutch_value_text(&list->list.items[i]);
        if (text && strstr(text, name))
            return true;
    }
    return false;
}

/* Is the directory on a filesystem that is mounted with quotas for projects? The last mount on the
 * way to it counts. */
static bool has_project_quota(const char *directory)
{
    FILE *table = fopen("/proc/self/mountinfo", "re");
    hutch_autofree char *line = NULL;
    size_t capacity = 0;
    size_t longest = 0;
    bool found = false;
    while (table && getline(&line, &capacity, table) > 0) {
        char point[4096];
        if (sscanf(line, "%*s %*s %*s %*s %4095s", point) != 1)
            continue;
        size_t length = strcmp(point, "/") != 0 ? strlen(point) : 0;
        if (strncmp(directory, point, length) != 0 ||
            (directory[length] && directory[length] != '/'))
            continue;
        if (length < longest)
            continue;
        longest = length;
        found = strstr(line, "prjquota") || strstr(line, "pquota");
    }
    if (table)
        (void)fclose(table);
    return found;
}

static bool limits_disk(const struct hutch_value *info, const struct docker_facts *facts,
                        bool is_near)
{
    static const char *const able[] = {"btrfs", "zfs", "devicemapper"};
    const char *root = hutch_value_text(hutch_value_get(info, "DockerRootDir"));
    for (size_t i = 0; i < HUTCH_COUNT(able); i++)
        if (!strcmp(facts->driver, able[i]))
            return true;
    return is_near && root && !strcmp(facts->driver, "overlay2") &&
           !strcmp(facts->backing, "xfs") && has_project_quota(root);
}

void docker_facts_read(const struct hutch_value *info, bool is_near, struct docker_facts *ret_facts)
{
    struct docker_facts facts = {
        .limits_memory = is_true(info, "MemoryLimit"),
        .limits_swap = is_true(info, "SwapLimit"),
        .limits_cpus = is_true(info, "CpuCfsPeriod") && is_true(info, "CpuCfsQuota"),
        .limits_pids = is_true(info, "PidsLimit"),
        .maps_ids = has_security(info, "name=rootless") || has_security(info, "name=userns"),
    };
    copy_text(facts.driver, sizeof(facts.driver),
              hutch_value_text(hutch_value_get(info, "Driver")));
    copy_text(facts.backing, sizeof(facts.backing), driver_status(info, "Backing Filesystem"));
    facts.limits_disk = limits_disk(info, &facts, is_near);
    *ret_facts = facts;
}

int docker_facts_ask(struct docker_engine *engine, struct docker_facts *ret_facts,
                     struct hutch_error *err)
{
    struct docker_answer answer = DOCKER_ANSWER_INIT;
    int status = docker_get(engine, "/info", &answer, err);
    if (status == 0) {
        docker_facts_read(&answer.json, docker_is_near(engine), ret_facts);
        (void)snprintf(ret_facts->version, sizeof(ret_facts->version), "%.20s %.40s",
                       engine->version.product, engine->version.release);
    }
    docker_answer_done(&answer);
    return status;
}

/* A limit on memory alone lets a container go on in the swap. */
static bool has_no_swap(void)
{
    char text[512];
    ssize_t length = hutch_read_at(-1, "/proc/swaps", text, sizeof(text));
    const char *end = length > 0 ? strchr(text, '\n') : NULL;
    return end && !end[1];
}

hutch_promise_set docker_facts_promises(const struct docker_facts *facts, bool is_near,
                                        char *ret_why, size_t size)
{
    bool memory = facts->limits_memory && (facts->limits_swap || (is_near && has_no_swap()));
    hutch_promise_set set = HUTCH_PROMISE_BIT(TIMEOUT) | HUTCH_PROMISE_BIT(IDLE_TIMEOUT) |
                            HUTCH_PROMISE_BIT(OUTPUT) | HUTCH_PROMISE_BIT(OPEN_FILES) |
                            HUTCH_PROMISE_BIT(GROUPS) | HUTCH_PROMISE_BIT(READ_ONLY);
    const struct {
        bool kept;
        hutch_promise_set bit;
        const char *why;
    } rows[] = {
        {memory, HUTCH_PROMISE_BIT(MEMORY), "the engine cannot limit memory and swap"},
        {facts->limits_cpus, HUTCH_PROMISE_BIT(CPUS), "the engine cannot limit processor time"},
        {facts->limits_pids, HUTCH_PROMISE_BIT(PIDS), "the engine cannot limit processes"},
        {facts->limits_disk, HUTCH_PROMISE_BIT(DISK), NULL},
        {false, HUTCH_PROMISE_BIT(INODES), "no engine counts files"},
    };
    struct hutch_buf why = HUTCH_BUF(1024);
    for (size_t i = 0; i < HUTCH_COUNT(rows); i++) {
        if (rows[i].kept) {
            set |= rows[i].bit;
            continue;
        }
        hutch_buf_puts(&why, why.length ? "; " : "");
        if (rows[i].why)
            hutch_buf_puts(&why, rows[i].why);
        else
            hutch_buf_printf(&why, "its storage, %s on %s, has no quota", facts->driver,
                             facts->backing[0] ? facts->backing : "this filesystem");
    }
    copy_text(ret_why, size, why.data);
    hutch_buf_done(&why);
    return set;
}

int docker_facts_check(const struct hutch_value *made, hutch_promise_set missing, bool is_near,
                       struct hutch_error *err)
{
    const struct {
        const char *text;
        hutch_promise_set bit;
    } rows[] = {{"memory limit", HUTCH_PROMISE_BIT(MEMORY)},
                {"swap limit", is_near && has_no_swap() ? 0 : HUTCH_PROMISE_BIT(MEMORY)},
                {"CFS", HUTCH_PROMISE_BIT(CPUS)},
                {"pids limit", HUTCH_PROMISE_BIT(PIDS)}};
    const struct hutch_value *list = hutch_value_get(made, "Warnings");
    for (size_t i = 0; list && list->type == HUTCH_VALUE_ARRAY && i < list->list.count; i++) {
        const char *warning = hutch_value_text(&list->list.items[i]);
        for (size_t k = 0; warning && k < HUTCH_COUNT(rows); k++)
            if (strstr(warning, rows[k].text) && (rows[k].bit & ~missing))
                return hutch_fail(err, HUTCH_E_UNENFORCEABLE, 0, "the engine says: %.300s",
                                  warning);
    }
    return 0;
}
