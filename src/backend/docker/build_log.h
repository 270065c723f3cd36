/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine tells while it builds, as the lines of a log; the step it is at; and why it gives
 * up. */
#ifndef HUTCH_DOCKER_BUILD_LOG_H
#define HUTCH_DOCKER_BUILD_LOG_H

#include "backend/docker/progress.h"
#include "image/build_lines.h"
#include "image/build_step.h"

struct docker_build_log {
    struct docker_progress progress; /* the context of docker_progress_feed() */
    struct build_lines lines;
    struct build_step step; /* the last one that was announced */
    char problem[320];      /* empty: it has not given up */
    build_line_fn *on_line; /* NULL: nobody listens */
    void *context;
};

/* The struct stays where it is until its end. */
void docker_build_log_begin(struct docker_build_log *log, build_line_fn *on_line, void *context);
void docker_build_log_end(struct docker_build_log *log);

#endif
