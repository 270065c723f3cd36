/* SPDX-License-Identifier: Apache-2.0 */
/* A command that runs for this process at the daemon ends when this process does, also by SIGKILL:
 * a second process waits for that on a pipe, and then tells the daemon. */
#ifndef HUTCH_REMOTE_GUARD_H
#define HUTCH_REMOTE_GUARD_H

#include <sys/types.h>

#include "util/error.h"

enum remote_guard_kind {
    REMOTE_GUARD_NOTHING,
    REMOTE_GUARD_REMOVE, /* the sandbox */
    REMOTE_GUARD_END,    /* the command in it */
};

struct remote_guard {
    pid_t pid;
    int fd;
};
#define REMOTE_GUARD_INIT \
    {                     \
        -1, -1            \
    }

int remote_guard_start(struct remote_guard *guard, struct hutch_error *err);
/* What it is to do from now on; id may be NULL. */
void remote_guard_tell(const struct remote_guard *guard, enum remote_guard_kind kind,
                       const char *sandbox, const char *id);
/* There is nothing to do any more. */
void remote_guard_stop(struct remote_guard *guard);

#endif
