/* SPDX-License-Identifier: Apache-2.0 */
/* Control groups on v1, v2 and hybrid hosts behind one set of names.
 *
 * A sandbox has one group in each hierarchy that is needed: on v2 a single one, on v1 and hybrid
 * hosts one per controller. What differs between the versions is data (struct cgroup_version in
 * cgroup.c), not code. */
#ifndef HUTCH_NATIVE_CGROUP_H
#define HUTCH_NATIVE_CGROUP_H

#include <stdbool.h>

#include "core/promise.h"
#include "core/result.h"
#include "util/error.h"

#include <sys/types.h>

#define CGROUP_MAX_GROUPS 4

enum cgroup_controller { CGROUP_MEMORY, CGROUP_CPU, CGROUP_PIDS, CGROUP_CORE, CGROUP_CONTROLLERS };

enum cgroup_counter {
    CGROUP_CPU_US,
    CGROUP_MEMORY_PEAK,
    CGROUP_PIDS_PEAK,
    CGROUP_OOM_KILLS,
    CGROUP_PIDS_REFUSED,
    CGROUP_MEMORY_NOW,
    CGROUP_PIDS_NOW,
    CGROUP_COUNTERS
};

struct cgroup_group {
    char path[512]; /* absolute directory */
    int parent;     /* the directory above, so that the way is walked once; negative: not open */
    int dir;
    bool made;
    int version;          /* 1 or 2 */
    unsigned controllers; /* bit set of enum cgroup_controller */
};

/* A counter's file that stays open. */
struct cgroup_watch {
    int fd; /* 0 or negative: it is not */
    int version;
};

struct cgroup {
    struct cgroup_group groups[CGROUP_MAX_GROUPS];
    size_t count;
    struct cgroup_watch watches[CGROUP_COUNTERS];
};

/* Where groups of this process go and which controllers work there. On v2 it may hand
 * controllers down to children first, and step into a leaf for that. */
struct cgroup_parent {
    char path[400];
    int version;
    unsigned controllers;
};

struct cgroup_layout {
    struct cgroup_parent parents[CGROUP_MAX_GROUPS];
    size_t count;
    hutch_promise_set enforces; /* MEMORY, CPUS, PIDS as far as groups can be made here */
    char why_not[200];          /* when something is missing: the cause, for the error message */
};

void cgroup_probe(struct cgroup_layout *ret_layout);
/* Adds where processor time is counted, should that take a group of its own. */
void cgroup_probe_time(struct cgroup_layout *layout);
/* The path of a process in a hierarchy, from the text of its /proc/PID/cgroup; controller "" is v2.
 */
bool cgroup_own_path(const char *text, const char *controller, char *ret_path, size_t size);
/* Where a v1 freezer group of this id would be. False when there is no such hierarchy for us. */
bool cgroup_freezer_path(const char *id, char *path, size_t size);
/* Plans the groups' names without making them, so that they can be recorded first. */
void cgroup_name(struct cgroup *cg, const struct cgroup_layout *layout, const char *id,
                 hutch_promise_set wanted, bool counts_time);
/* Makes the groups of one version with their limits. */
int cgroup_create(struct cgroup *cg, int version, const struct hutch_limits *limits,
                  struct hutch_error *err);
/* The v2 group's directory, for CLONE_INTO_CGROUP; negative when there is none. Borrowed. */
int cgroup_clone_target(const struct cgroup *cg);
/* Files of the v1 groups into which the child writes "0". Also on failure *ret_count are open. */
int cgroup_open_members(const struct cgroup *cg, int *fds, size_t *ret_count,
                        struct hutch_error *err);
/* Kills every member at once where the kernel can; otherwise does nothing. */
void cgroup_kill(const struct cgroup *cg);
struct cgroup_events {
    uint64_t oom_kills;
    uint64_t pids_refused;
};
void cgroup_read_usage(const struct cgroup *cg, struct hutch_usage *usage);
void cgroup_read_events(const struct cgroup *cg, struct cgroup_events *events);
/* One figure where all would be too many: each is a file to open and to read. 0: not to be had. */
uint64_t cgroup_counter(const struct cgroup *cg, enum cgroup_counter counter);
/* The same of a counter that is read again and again: its file stays open. */
bool cgroup_watch(struct cgroup *cg, enum cgroup_counter counter, uint64_t *ret_value);
void cgroup_watch_none(struct cgroup *cg);
/* Groups of their own for one command, below the sandbox's: on v1 where processes are counted and
 * their time is, for the limits are the sandbox's. */
int cgroup_make_child(const struct cgroup *parent, const char *name, struct cgroup *ret_child,
                      struct hutch_error *err);
/* Its files into which a process writes "0" to enter. Also on failure *ret_count are open. */
int cgroup_open_entrances(const struct cgroup *cg, int *fds, size_t *ret_count,
                          struct hutch_error *err);
/* Kills every member, and keeps them from making others. False while there are still some: ask
 * again. */
bool cgroup_kill_members(const struct cgroup *cg);
/* Whoever was stopped goes on. */
void cgroup_continue_members(const struct cgroup *cg);
/* Dying takes processor time; from now on as much as there is, or again as much as is allowed. */
void cgroup_lift_cpu_limit(const struct cgroup *cg);
int cgroup_set_limits(const struct cgroup *cg, const struct hutch_limits *limits,
                      struct hutch_error *err);
bool cgroup_has(const struct cgroup *cg, enum cgroup_controller controller);
/* What it has now, beside the peaks. */
struct cgroup_now {
    uint64_t memory_bytes;
    uint64_t pids;
};
void cgroup_read_now(const struct cgroup *cg, struct cgroup_now *now);
/* Every member of the sandbox by its host's number. Free *ret_pids with free(). */
int cgroup_list(const struct cgroup *cg, pid_t **ret_pids, size_t *ret_count);
/* Removes groups if they are empty. */
bool cgroup_try_remove(struct cgroup *cg);
/* Removes the groups, waiting a moment for the last member's exit to be complete. Returns -1 when
 * one stays. */
int cgroup_destroy(struct cgroup *cg);
/* Removes a group by path after a crash: kills what is in it, then removes it. */
int cgroup_remove_path(const char *path);

#endif
