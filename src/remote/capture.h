/* SPDX-License-Identifier: Apache-2.0 */
/* Where the output of a command goes as it arrives: to descriptors, into the result, or both. */
#ifndef HUTCH_REMOTE_CAPTURE_H
#define HUTCH_REMOTE_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/native/capture.h"
#include "hutch/run.h"

struct remote_output {
    int fds[2]; /* of standard output and standard error; -1: nowhere */
    bool keeps;
    struct capture streams[2];
    struct capture both;
    uint64_t offset; /* where to go on when the connection was cut */
};

void remote_output_start(struct remote_output *output, int stdout_fd, int stderr_fd, bool keeps,
                         uint64_t budget_bytes);
int remote_output_add(struct remote_output *output, enum hutch_stream stream, const char *data,
                      size_t length, struct hutch_error *err);
/* Into the result, which has none of its own. */
int remote_output_finish(struct remote_output *output, struct hutch_result *result,
                         struct hutch_error *err);
void remote_output_done(struct remote_output *output);

#endif
