/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_RUN_H
#define HUTCH_RUN_H

#include "hutch/error.h"
#include "hutch/result.h"
#include "hutch/spec.h"

#ifdef __cplusplus
extern "C" {
#endif

enum hutch_stream { HUTCH_STDOUT = 1, HUTCH_STDERR = 2 };

/* Called with output as it arrives. It must not block for long: deadlines are watched by the same
 * thread. */
typedef void (*hutch_output_fn)(void *userdata, enum hutch_stream stream, const char *data,
                                size_t length);

/* Start from HUTCH_RUN_OPTIONS_INIT: fields may be added at the end. Descriptors stay the caller's.
 * -1 means none. */
struct hutch_run_options {
    size_t size;
    int stdin_fd;  /* fed to the command until its end; none: the command reads end-of-file at once
                    */
    int stdout_fd; /* live copy of the command's output */
    int stderr_fd;
    int cancel_fd;   /* when it becomes readable the sandbox is ended with reason "cancelled" */
    int terminal_fd; /* give the command a terminal of this one's size; input and output go through
                        stdin_fd, stdout_fd */
    int resize_fd;   /* readable when the terminal's size has changed (such as a signalfd for
                        SIGWINCH) */
    bool capture;    /* keep output in the result, up to the spec's limits.output */
    hutch_output_fn on_output;
    void *userdata;
    bool usage; /* count what the run uses; otherwise the result's usage is all zero, and the run a
                   little faster */
};

#define HUTCH_RUN_OPTIONS_INIT                                                           \
    {                                                                                    \
        sizeof(struct hutch_run_options), -1, -1, -1, -1, -1, -1, true, NULL, NULL, true \
    }

/* Runs the spec's command in a new sandbox, waits for its end and leaves nothing behind. Blocks the
 * calling thread; other threads may run others. Returns 0 with a result whenever the sandbox was
 * set up or its command could not be executed; a negative code and *err when hutch itself failed.
 */
HUTCH_API HUTCH_MUST_CHECK int hutch_run(const struct hutch_spec *spec,
                                         const struct hutch_run_options *options,
                                         struct hutch_result **ret_result, struct hutch_error *err);

#ifdef __cplusplus
}
#endif
#endif
