/* SPDX-License-Identifier: Apache-2.0 */
/* Whose an event is, and which labels it has. Only where a life begins is that written; whoever
 * filters later events of the same sandbox has to remember it, or to look it up. */
#ifndef HUTCH_SERVER_EVENTS_WHO_H
#define HUTCH_SERVER_EVENTS_WHO_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Belongs to one thread. */
struct events_who {
    json_t *known; /* by id: {"tenant": ..., "labels": {...}} */
};

void events_who_done(struct events_who *who);

/* One event, while it is told. */
struct events_event {
    uint64_t seq;
    const char *json;
    size_t length;
    json_t *parsed; /* NULL until somebody filters */
    json_t *of;     /* what is known of its sandbox; borrowed */
};
void events_event_done(struct events_event *event);

/* tenant, label: NULL for any. label: "KEY" or "KEY=VALUE". */
bool events_who_matches(struct events_who *who, struct events_event *event, const char *tenant,
                        const char *label);

#endif
