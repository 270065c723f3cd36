/* SPDX-License-Identifier: Apache-2.0 */
/* Promises: what a backend may or may not be able to enforce. A backend states its set; core
 * refuses a spec that asks for more, unless the caller named the promise under allow_missing. */
#ifndef HUTCH_CORE_PROMISE_H
#define HUTCH_CORE_PROMISE_H

#include <stdint.h>

#include "core/spec.h"

#define HUTCH_PROMISES(X)                                                 \
    X(MEMORY, "memory", "memory of all processes together, without swap") \
    X(CPUS, "cpus", "processor time per second")                          \
    X(PIDS, "pids", "processes and threads")                              \
    X(DISK, "disk", "bytes in the writable layer")                        \
    X(INODES, "inodes", "files and directories in the writable layer")    \
    X(TIMEOUT, "timeout", "wall time")                                    \
    X(IDLE_TIMEOUT, "idle_timeout", "time without output")                \
    X(OUTPUT, "output", "output kept per stream")                         \
    X(OPEN_FILES, "open_files", "open descriptors per process")           \
    X(GROUPS, "groups", "the caller's supplementary groups are dropped")  \
    X(EGRESS, "egress", "hosts that may be reached, by their names")      \
    X(READ_ONLY, "read_only", "nothing is written to the root")

enum hutch_promise {
#define X(id, name, doc) HUTCH_PROMISE_##id,
    HUTCH_PROMISES(X)
#undef X
        HUTCH_PROMISE_COUNT,
};

typedef uint32_t hutch_promise_set;
#define HUTCH_PROMISE_BIT(id) (UINT32_C(1) << HUTCH_PROMISE_##id)

const char *hutch_promise_name(enum hutch_promise promise);
const char *hutch_promise_doc(enum hutch_promise promise);

/* Parses one allow_missing entry ("memory", or "all") into a set. */
int hutch_promise_parse(const char *name, hutch_promise_set *ret_set, struct hutch_error *err);

/* The promises this spec needs, by its limits. */
hutch_promise_set hutch_promises_required(const struct hutch_spec *spec);

/* Refuses what would not be enforced and the caller has not allowed to be missing. why: what is in
 * the way, may be empty. */
HUTCH_MUST_CHECK int hutch_promises_settle(const struct hutch_spec *spec,
                                           hutch_promise_set enforced, const char *why,
                                           hutch_promise_set *ret_missing, struct hutch_error *err);

#endif
