/* SPDX-License-Identifier: Apache-2.0 */
/* From a request's body to a spec: its template first, then its own fields, then the names that
 * people know (memory_limit, cpu_limit). A line of a batch is such a body, too. */
#ifndef HUTCH_SERVER_REQUEST_H
#define HUTCH_SERVER_REQUEST_H

#include "server/api.h"

/* Rows of the bodies that make a sandbox or a run, beside the spec's. */
#define REQUEST_LIMIT_FIELDS                                                    \
    {"memory_limit", API_SIZE, false, "The same as limits.memory: \"1g\".", 0}, \
    {                                                                           \
        "cpu_limit", API_OBJECT, false,                                         \
            "The same as limits.cpus: processors, as a number or as a text.", 0 \
    }
#define REQUEST_TEMPLATE_FIELD                                               \
    {                                                                        \
        "template", API_TEXT, false,                                         \
            "Named sandbox whose fields hold where the request has none.", 0 \
    }

/* body: one that was checked against the fields. The spec is bound to policy and caller, and what
 * of the host's only the operator may give to tenants was refused. */
HUTCH_MUST_CHECK int request_spec(const struct api_call *call, const json_t *body,
                                  const struct api_field *fields, struct hutch_spec **ret_spec,
                                  struct hutch_error *err);
/* May the caller write to the host's files at all? As a tenant only where the policy says which. */
HUTCH_MUST_CHECK int request_check_places(const struct api_call *call, const char *what,
                                          struct hutch_error *err);

/* Is ?stream= one of its words? */
HUTCH_MUST_CHECK int request_check_stream(const struct api_call *call, struct hutch_error *err);

/* What a command is to read, from stdin and stdin_encoding: *ret_fd is the caller's, -1 where
 * nothing is given. */
HUTCH_MUST_CHECK int request_stdin(const json_t *body, int *ret_fd, struct hutch_error *err);

#endif
