/* SPDX-License-Identifier: Apache-2.0 */
/* Where the PID 1 that a keeper talks to lives, and what differs between these places. */
#ifndef HUTCH_CONTAINER_ENGINE_H
#define HUTCH_CONTAINER_ENGINE_H

#include "backend/native/cgroup.h"
#include "core/spec.h"
#include "hutch/result.h"
#include "util/error.h"

struct keeper;

struct engine_ops {
    const char *backend; /* as results name it */
    /* With id and missing filled in. When it returns, PID 1 has its orders, for a run with its
     * command. */
    int (*build)(struct keeper *keeper, struct hutch_error *err);
    /* Everything inside, at once, without waiting. */
    void (*kill)(const struct keeper *keeper);
    /* What the engine has counted. */
    void (*read_usage)(struct keeper *keeper, struct hutch_usage *ret_usage,
                       struct cgroup_events *ret_events, struct cgroup_now *ret_now);
    int (*freeze)(struct keeper *keeper, struct hutch_error *err);
    int (*thaw)(struct keeper *keeper, struct hutch_error *err);
    int (*set_limits)(struct keeper *keeper, const struct hutch_limits *limits,
                      struct hutch_error *err);
    /* What is left of it outside, after its end. */
    void (*release)(struct keeper *keeper);
};

extern const struct engine_ops native_engine;
extern const struct engine_ops container_engine;

#endif
