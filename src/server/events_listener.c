/* SPDX-License-Identifier: Apache-2.0 */
#include "server/events_listener.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hutch/audit.h"
#include "server/util.h"

/* ---- writing --------------------------------------------------------------------------------- */

static void keep(struct listener *listener, const char *data, size_t length)
{
    listener->pending = malloc(length);
    listener->is_gone |= !listener->pending;
    if (!listener->pending)
        return;
    memcpy(listener->pending, data, length);
    listener->pending_at = 0;
    listener->pending_length = length;
}

/* As much as there is room for; how much that was. */
static size_t put(struct listener *listener, const char *data, size_t length)
{
    size_t done = 0;
    while (done < length) {
        ssize_t written = write(listener->fd, data + done, length - done);
        if (written > 0)
            done += (size_t)written;
        else if (errno == EAGAIN)
            break;
        else if (errno != EINTR) {
            listener->is_gone = true;
            break;
        }
    }
    return done;
}

/* Only when nothing is pending. */
static void say(struct listener *listener, const char *data, size_t length)
{
    size_t done = put(listener, data, length);
    if (done < length && !listener->is_gone)
        keep(listener, data + done, length - done);
}

static void flush(struct listener *listener)
{
    if (!listener->pending)
        return;
    listener->pending_at += put(listener, listener->pending + listener->pending_at,
                                listener->pending_length - listener->pending_at);
    if (listener->pending_at < listener->pending_length)
        return;
    free(listener->pending);
    listener->pending = NULL;
}

void listener_be_quiet(struct listener *listener)
{
    if (!listener->pending && listener->form == EVENTS_SSE)
        say(listener, ": \n\n", 4);
}

/* ---- events ---------------------------------------------------------------------------------- */

bool listener_tell(struct listener *listener, struct events_who *who, struct events_event *event)
{
    server_autofree char *text = NULL;
    if (event->seq < listener->next)
        return true;
    listener->next = event->seq + 1;
    if (!events_who_matches(who, event, listener->tenant, listener->label))
        return true;
    int length = listener->form == EVENTS_SSE
                     ? asprintf(&text, "id: %" PRIu64 "\ndata: %.*s\n\n", event->seq,
                                (int)event->length, event->json)
                     : asprintf(&text, "%.*s\n", (int)event->length, event->json);
    if (length < 0) {
        text = NULL;
        listener->is_gone = true; /* it comes back with the number of the last one it has */
        return false;
    }
    say(listener, text, (size_t)length);
    return !listener->pending && !listener->is_gone;
}

struct missed {
    struct listener *listener;
    struct events_who *who;
};

static int tell_missed(void *userdata, uint64_t seq, const char *json, size_t length)
{
    const struct missed *missed = userdata;
    struct events_event event = {.seq = seq, .json = json, .length = length};
    bool goes_on = listener_tell(missed->listener, missed->who, &event);
    events_event_done(&event);
    return goes_on ? 0 : 1;
}

void listener_go_on(struct listener *listener, struct events_who *who)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    struct missed missed = {listener, who};
    flush(listener);
    if (listener->pending || listener->is_gone || !listener->is_behind)
        return;
    if (!listener->watch && hutch_audit_watch_new(listener->next, &listener->watch, &ignored) < 0) {
        listener->is_gone = true;
        return;
    }
    int status = hutch_audit_watch_read(listener->watch, tell_missed, &missed, &ignored);
    if (status < 0)
        listener->is_gone = true;
    if (status != 0)
        return;
    listener->is_behind = false;
    hutch_audit_watch_free(listener->watch);
    listener->watch = NULL;
}

void listener_free(struct listener *listener)
{
    hutch_audit_watch_free(listener->watch);
    free(listener->pending);
    api_let_go(listener->call);
    free(listener);
}
