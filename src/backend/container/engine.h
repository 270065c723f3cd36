/* SPDX-License-Identifier: Apache-2.0 */
/* Where the PID 1 that a keeper talks to lives, and what differs between these places: the native
 * namespaces of this host, or a container that a porter makes in an engine. */
#ifndef HUTCH_CONTAINER_ENGINE_H
#define HUTCH_CONTAINER_ENGINE_H

#include "backend/native/cgroup.h"
#include "backend/native/identity.h"
#include "core/spec.h"
#include "hutch/result.h"
#include "init/protocol.h"
#include "util/error.h"

struct keeper;
struct warden;

/* What a report that is not PID 1's own means to the keeper. */
enum engine_word {
    ENGINE_NOTHING,
    ENGINE_READY,  /* commands can be sent */
    ENGINE_FAILED, /* there is no sandbox, or none any more */
};

/* What it uses now, as far as anybody counts. */
struct engine_stats {
    struct hutch_usage usage;
    struct cgroup_events events;
    struct cgroup_now now;
    uint64_t disk_bytes;
    bool has_cpu;
    bool has_memory;
    bool has_pids;
};

struct engine_ops {
    /* Every process inside descends from this one: what wait4 tells of PID 1 is theirs. */
    bool is_parent;
    /* With id, layout and missing filled in. When it returns, PID 1 is on its way and has its
     * orders; those of a container hear of their command when it is ready. */
    int (*build)(struct keeper *keeper, struct hutch_error *err);
    enum engine_word (*hear)(struct keeper *keeper, const struct init_message *report, int *fds,
                             size_t fd_count, struct hutch_error *err);
    /* Everything inside, at once, without waiting. */
    void (*kill)(const struct keeper *keeper);
    /* Acts when a kill takes too long; when to look again. */
    uint64_t (*hasten_end)(struct keeper *keeper);
    /* After a kill: waits as long as there is something to hear of the end. */
    void (*await_end)(struct keeper *keeper);
    /* What was counted; false when more is to come. */
    bool (*read_usage)(struct keeper *keeper, struct hutch_usage *usage,
                       struct cgroup_events *events);
    void (*read_stats)(struct keeper *keeper, struct engine_stats *ret_stats);
    /* One figure of the whole sandbox. fresh: as it is now, whatever that costs. */
    uint64_t (*counter)(struct keeper *keeper, enum cgroup_counter counter, bool fresh);
    /* Who a command of 'exec -u USER' is. */
    int (*resolve_user)(const struct keeper *keeper, const char *user,
                        struct identity *ret_identity, struct hutch_error *err);
    int (*freeze)(struct warden *warden, struct hutch_error *err);
    int (*thaw)(struct warden *warden, struct hutch_error *err);
    int (*set_limits)(struct keeper *keeper, const struct hutch_limits *limits,
                      struct hutch_error *err);
    /* Nothing is to be left of a sandbox that stays. */
    void (*forget)(struct warden *warden);
    /* What is left of it outside, after its end. */
    void (*release)(struct keeper *keeper);
};

extern const struct engine_ops native_engine;    /* native/engine.c */
extern const struct engine_ops container_engine; /* container/engine.c */

#endif
