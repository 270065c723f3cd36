/* SPDX-License-Identifier: Apache-2.0 */
/* An engine answers a long piece of work at once with 200 and then tells how it goes, a line of
 * JSON for each step, which may come in as many pieces as it has bytes. */
#ifndef HUTCH_DOCKER_PROGRESS_H
#define HUTCH_DOCKER_PROGRESS_H

#include "core/value.h"
#include "util/buf.h"

#define DOCKER_PROGRESS_LINE_BYTES (1u << 20)

typedef void docker_progress_fn(void *context, const struct hutch_value *json);

struct docker_progress {
    struct hutch_buf line;
    docker_progress_fn *on_value;
    void *context;
};

#define DOCKER_PROGRESS(function, userdata)                           \
    {                                                                 \
        HUTCH_BUF(DOCKER_PROGRESS_LINE_BYTES), (function), (userdata) \
    }

/* A docker_sink, of the progress. What is no JSON is nobody's; a line that is too long ends it. */
int docker_progress_feed(void *context, const void *data, size_t length);
/* The last line may have no end. Frees what is held. */
void docker_progress_end(struct docker_progress *progress);

/* Why it failed, as the value tells it; NULL: it does not. */
const char *docker_progress_error(const struct hutch_value *json);

#endif
