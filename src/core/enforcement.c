/* SPDX-License-Identifier: Apache-2.0 */
#include "core/enforcement.h"

#include <string.h>

#include "util/own.h"

#define ALWAYS HUTCH_ENFORCED_ALWAYS

/* The keeper and hutch-init see to these by themselves, whatever the engine. */
#define BY_KEEPER                                                            \
    [HUTCH_PROMISE_TIMEOUT] = ALWAYS, [HUTCH_PROMISE_IDLE_TIMEOUT] = ALWAYS, \
    [HUTCH_PROMISE_OUTPUT] = ALWAYS, [HUTCH_PROMISE_OPEN_FILES] = ALWAYS

static const struct hutch_enforcement rows[] = {
    {"native",
     {BY_KEEPER, [HUTCH_PROMISE_MEMORY] = "root, or with a cgroup of one's own",
      [HUTCH_PROMISE_CPUS] = "root, or with a cgroup of one's own", [HUTCH_PROMISE_PIDS] = ALWAYS,
      [HUTCH_PROMISE_DISK] = "in memory; on disk for root, in a quota pool",
      [HUTCH_PROMISE_INODES] = "in memory; on disk in a pool of ext4 with project quotas",
      [HUTCH_PROMISE_GROUPS] = "root, or with newuidmap", [HUTCH_PROMISE_EGRESS] = ALWAYS,
      [HUTCH_PROMISE_READ_ONLY] = ALWAYS}},
    {"docker",
     {BY_KEEPER, [HUTCH_PROMISE_MEMORY] = "an engine that limits memory and swap",
      [HUTCH_PROMISE_CPUS] = "an engine that limits processor time",
      [HUTCH_PROMISE_PIDS] = "an engine that limits processes",
      [HUTCH_PROMISE_DISK] =
          "storage with quotas, such as overlay2 on XFS with pquota; not with read_only",
      [HUTCH_PROMISE_GROUPS] = ALWAYS, [HUTCH_PROMISE_READ_ONLY] = ALWAYS}},
    {"oci",
     {BY_KEEPER, [HUTCH_PROMISE_MEMORY] = "a host with the memory controller",
      [HUTCH_PROMISE_CPUS] = "a host with the cpu controller",
      [HUTCH_PROMISE_PIDS] = "a host with the pids controller",
      [HUTCH_PROMISE_DISK] = "in memory; on disk in a quota pool",
      [HUTCH_PROMISE_INODES] = "in memory; on disk in a pool of ext4 with project quotas",
      [HUTCH_PROMISE_GROUPS] = ALWAYS, [HUTCH_PROMISE_EGRESS] = ALWAYS,
      [HUTCH_PROMISE_READ_ONLY] = ALWAYS}},
};

const struct hutch_enforcement *hutch_enforcements(size_t *ret_count)
{
    *ret_count = HUTCH_COUNT(rows);
    return rows;
}

static hutch_promise_set collect(const char *backend, bool only_always)
{
    hutch_promise_set set = 0;
    for (size_t row = 0; row < HUTCH_COUNT(rows); row++) {
        if (strcmp(rows[row].backend, backend) != 0)
            continue;
        for (unsigned i = 0; i < HUTCH_PROMISE_COUNT; i++)
            if (rows[row].where[i] && (!only_always || !*rows[row].where[i]))
                set |= UINT32_C(1) << i;
    }
    return set;
}

hutch_promise_set hutch_enforcement_most(const char *backend)
{
    return collect(backend, false);
}

hutch_promise_set hutch_enforcement_least(const char *backend)
{
    return collect(backend, true);
}
