/* SPDX-License-Identifier: Apache-2.0 */
/* buildah as a child process whose words are heard line by line, and which never outlives its
 * caller.
 *
 * For root the child is PID 1 of namespaces of its own (pid, mount, ipc, uts): when it ends, or is
 * killed because hutch was, the kernel ends every step of the build that still runs and takes its
 * mounts away. Somebody else's buildah makes such namespaces itself. */
#ifndef HUTCH_IMAGE_BUILD_PROCESS_H
#define HUTCH_IMAGE_BUILD_PROCESS_H

#include "image/build_lines.h"
#include "util/error.h"

struct build_process {
    const char *program; /* an absolute path */
    char *const *argv;   /* NULL-terminated */
    char *const *envp;
    build_line_fn *on_line; /* what it says on both of its streams, in their order; NULL: nobody
                               listens */
    void *context;
};

/* The path of a program in $PATH, to be freed; HUTCH_E_UNAVAILABLE says what to install. */
int build_process_find(const char *name, char **ret_path, struct hutch_error *err) HUTCH_MUST_CHECK;
/* Runs it to its end. *ret_status is its exit status, or 128+N when signal N ended it. */
int build_process_run(const struct build_process *process, int *ret_status,
                      struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
