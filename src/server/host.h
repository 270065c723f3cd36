/* SPDX-License-Identifier: Apache-2.0 */
/* What the routes about the host keep between requests. */
#ifndef HUTCH_SERVER_HOST_H
#define HUTCH_SERVER_HOST_H

#include "server/api.h"
#include "server/metrics.h"

struct host;

HUTCH_MUST_CHECK int host_new(struct host **ret_host, struct hutch_error *err);
/* No request is being answered any more. */
void host_free(struct host *host);
/* The daemon ends: nobody is told of events any more. */
void host_drain(struct host *host);

struct metrics *host_metrics(struct host *host);
struct events_hub *host_events(struct host *host); /* server/events_hub.h */
/* The text of /openapi.json, borrowed; made when it is first asked for. NULL: no memory. */
const char *host_openapi(struct host *host, size_t *ret_length);

/* Names of checks that this host fails, as a list; the caller's. The machine is examined anew after
 * a while. NULL: no memory. */
json_t *host_faults(struct host *host);

#endif
