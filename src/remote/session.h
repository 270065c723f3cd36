/* SPDX-License-Identifier: Apache-2.0 */
/* A command in a sandbox of the daemon's, with this process at its side: what it says comes here,
 * what is typed goes there, signals too, and its end is the caller's result. */
#ifndef HUTCH_REMOTE_SESSION_H
#define HUTCH_REMOTE_SESSION_H

#include "remote/guard.h"
#include "remote/sandbox.h"

#define REMOTE_TRIES 5      /* a connection that is cut is made again so often */
#define REMOTE_PAUSE_MS 200 /* before the first time; longer each time */

struct remote_exec {
    struct hutch_sandbox *sandbox;
    size_t argc;
    const char *const *argv;
    const struct hutch_exec_options *options;
    uint64_t output_bytes;            /* kept per stream */
    const struct remote_guard *guard; /* NULL: it gets one of its own */
};

int remote_exec_run(const struct remote_exec *exec, struct hutch_result **ret_result,
                    struct hutch_error *err);

#endif
