/* SPDX-License-Identifier: Apache-2.0 */
/* What the daemon counts, and the page on which Prometheus reads it. What others count already
 * (http/http.h, server/server.h) is asked for when the page is. */
#ifndef HUTCH_SERVER_METRICS_H
#define HUTCH_SERVER_METRICS_H

#include <stdio.h>

#include "server/api.h"

struct metrics;

/* NULL when there is no memory. */
struct metrics *metrics_new(void);
void metrics_free(struct metrics *metrics);

/* Any thread. A request is over; route: NULL when it was for none. is_stream: what it took is the
 * time somebody listened, which tells nothing about us. */
void metrics_answered(struct metrics *metrics, const struct api_route *route, int status,
                      uint64_t duration_us, bool is_stream);

/* GET /metrics. */
void metrics_page(struct api_call *call);

/* metrics_requests.c: the parts of the page that are by route. */
void metrics_write_requests(const struct metrics *metrics, const char *name, FILE *file);
void metrics_write_durations(const struct metrics *metrics, const char *name, FILE *file);

#endif
