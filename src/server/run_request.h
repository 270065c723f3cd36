/* SPDX-License-Identifier: Apache-2.0 */
/* One run, as a request or a line of a batch asks for it. */
#ifndef HUTCH_SERVER_RUN_REQUEST_H
#define HUTCH_SERVER_RUN_REQUEST_H

#include "server/request.h"

/* Rows of a run's body beside the spec's. */
#define RUN_FIELDS                                                                 \
    REQUEST_LIMIT_FIELDS, REQUEST_TEMPLATE_FIELD,                                  \
        {"stdin", API_TEXT, false, "What the command reads.", 0},                  \
        {"stdin_encoding", API_TEXT, false, "base64, where stdin is no text.", 0}, \
    {                                                                              \
        "spec", API_SPEC, false, "", HUTCH_USE_RUN                                 \
    }

struct run_request {
    struct hutch_spec *spec;
    int stdin_fd;
};
#define RUN_REQUEST_INIT \
    {                    \
        NULL, -1         \
    }

HUTCH_MUST_CHECK int run_request_read(const struct api_call *call, const json_t *body,
                                      const struct api_field *fields, struct run_request *request,
                                      struct hutch_error *err);
void run_request_done(struct run_request *request);

#endif
