/* SPDX-License-Identifier: Apache-2.0 */
/* What happened. A command's failure is a result; hutch's own failure is a struct hutch_error. */
#ifndef HUTCH_RESULT_H
#define HUTCH_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hutch/egress.h"
#include "hutch/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Why the command ended, taken from the kernel's own counters. */
enum hutch_reason {
    HUTCH_REASON_EXITED,
    HUTCH_REASON_SIGNALED,
    HUTCH_REASON_TIMEOUT,
    HUTCH_REASON_IDLE_TIMEOUT,
    HUTCH_REASON_OOM,
    HUTCH_REASON_PIDS_LIMIT,
    HUTCH_REASON_DISK_LIMIT,
    HUTCH_REASON_OUTPUT_LIMIT,
    HUTCH_REASON_CANCELLED,
    HUTCH_REASON_SANDBOX_DIED,
    HUTCH_REASON_SETUP_FAILED,
    HUTCH_REASON_COUNT,
};

/* Stable lower-case name, such as "disk_limit". */
HUTCH_API const char *hutch_reason_name(enum hutch_reason reason);

/* What was kept of a stream: the head, then the tail; dropped_bytes are missing between them at
 * offset head_bytes. */
struct hutch_output {
    const char *data;
    size_t length;
    size_t head_bytes;
    uint64_t total_bytes;
    uint64_t dropped_bytes;
};

struct hutch_usage {
    uint64_t cpu_us;
    uint64_t memory_peak_bytes;
    uint64_t pids_peak;
    uint64_t disk_peak_bytes; /* highest value seen in the writable layer */
    uint64_t oom_kills;
    bool has_memory_peak; /* false where the kernel does not count it */
    bool has_pids_peak;
};

struct hutch_result {
    char id[33];
    enum hutch_reason reason;
    int exit_code;   /* what the hutch command exits with: the command's own, 124, 126, 127 or 128 +
                        signal */
    int signal;      /* the signal that ended the command, 0 when none did */
    bool ok;         /* it exited by itself with 0 */
    bool held_pipes; /* a background process still held an output pipe when the command had ended */
    struct hutch_output out;
    struct hutch_output err;
    struct hutch_output both; /* the two in the order in which they arrived */
    uint64_t duration_us;
    struct hutch_usage usage;
    const char *backend;
    const char *isolation_level;
    const char *writable_layer; /* "memory" or "disk": what holds the files the command writes */
    const char *const *missing; /* NULL-terminated: promises this host could not keep, each allowed
                                   by the caller */
    const struct hutch_egress *egress; /* NULL without egress */
    /* why it could not be set up, or why not all of its output, input or artifacts got through */
    struct hutch_error error;
};

HUTCH_API void hutch_result_free(struct hutch_result *result);
/* One JSON object. Free it with free(). */
HUTCH_API HUTCH_MUST_CHECK int hutch_result_to_json(const struct hutch_result *result,
                                                    char **ret_json, size_t *ret_length,
                                                    struct hutch_error *err);

#ifdef __cplusplus
}
#endif
#endif
