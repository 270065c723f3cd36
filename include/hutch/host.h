/* SPDX-License-Identifier: Apache-2.0 */
/* What this machine can do, and sweeping up after processes that were killed. */
#ifndef HUTCH_HOST_H
#define HUTCH_HOST_H

#include <stdbool.h>
#include <stddef.h>

#include "hutch/error.h"

#ifdef __cplusplus
extern "C" {
#endif

enum hutch_check_status { HUTCH_CHECK_OK, HUTCH_CHECK_WARN, HUTCH_CHECK_FAIL };

struct hutch_check {
    const char *name; /* stable, such as "cgroup.memory" */
    enum hutch_check_status status;
    char detail[200]; /* what was found */
    char remedy[300]; /* the command that fixes it; empty when there is nothing to fix */
};

typedef void (*hutch_check_fn)(void *userdata, const struct hutch_check *check);

/* Examines the machine, one callback per check. Changes nothing. */
HUTCH_API HUTCH_MUST_CHECK int hutch_doctor(hutch_check_fn on_check, void *userdata,
                                            struct hutch_error *err);

typedef void (*hutch_gc_fn)(void *userdata, const char *kind, const char *what);

/* Removes what sandboxes left behind whose hutch was killed. With dry_run only tells. One callback
 * per thing. */
HUTCH_API HUTCH_MUST_CHECK int hutch_gc(bool dry_run, hutch_gc_fn on_item, void *userdata,
                                        struct hutch_error *err);

/* Where hutch keeps what it has to remember: "lib" outlives a restart of the machine, "run" does
 * not. Made when it is missing. */
HUTCH_API HUTCH_MUST_CHECK int hutch_state_directory(const char *kind, char *ret_path, size_t size,
                                                     struct hutch_error *err);

HUTCH_API const char *hutch_version(void);

#ifdef __cplusplus
}
#endif
#endif
