/* SPDX-License-Identifier: Apache-2.0 */
/* Whoever listens to events: one thread reads the journal as it is written and tells all of them,
 * so that a listener costs a pipe and a few hundred bytes. Whoever comes with an old event's
 * number, or takes too long, reads the journal by itself until it has caught up; so nothing is lost
 * and nothing told twice, and no listener is waited for. */
#ifndef HUTCH_SERVER_EVENTS_HUB_H
#define HUTCH_SERVER_EVENTS_HUB_H

#include "server/api.h"
#include "server/events_out.h"

struct events_hub;

/* NULL when there is no memory. No thread is made until somebody listens. */
struct events_hub *events_hub_new(void);
/* Everybody's stream ends, and so does the thread. */
void events_hub_end(struct events_hub *hub);
void events_hub_free(struct events_hub *hub);

/* from: the number of the first event, HUTCH_AUDIT_TO_COME for those to come. label: NULL, or which
 * sandboxes' events; borrowed from the call. Answers the call, which goes on until its client is
 * gone. */
void events_hub_listen(struct events_hub *hub, struct api_call *call, enum events_form form,
                       uint64_t from, const char *label);

#endif
