/* SPDX-License-Identifier: Apache-2.0 */
/* One listener, as the hub's thread has it. */
#ifndef HUTCH_SERVER_EVENTS_LISTENER_H
#define HUTCH_SERVER_EVENTS_LISTENER_H

#include "server/events_hub.h"
#include "server/events_who.h"

struct listener {
    struct listener *next_one;
    struct api_call *call;
    int fd; /* does not block */
    int gone_fd;
    enum events_form form;
    const char *tenant; /* NULL: it may hear of everybody */
    const char *label;
    uint64_t next;                   /* what comes before was told, or is not for it */
    struct hutch_audit_watch *watch; /* its own, as long as it is behind the others; else NULL */
    bool is_behind;
    bool is_gone;
    bool wants_room; /* the hub is told when its pipe has room */
    char *pending;   /* what the pipe had no room for */
    size_t pending_at;
    size_t pending_length;
};

/* Tells it the event, if that is for it. False: it takes no more for now. */
bool listener_tell(struct listener *listener, struct events_who *who, struct events_event *event);
/* Something to keep the stream alive. */
void listener_be_quiet(struct listener *listener);
/* There is room: what it waits for, and then what it has missed. */
void listener_go_on(struct listener *listener, struct events_who *who);
/* Its stream ends here. */
void listener_free(struct listener *listener);

#endif
