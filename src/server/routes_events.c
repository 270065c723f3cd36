/* SPDX-License-Identifier: Apache-2.0 */
/* Events of the audit as they happen. */
#include "hutch/audit.h"
#include "server/events_hub.h"
#include "server/host.h"
#include "server/routes.h"
#include "server/server.h"
#include "server/util.h"

/* Last-Event-ID comes from a client that was cut off, and is behind what it asked for at first. */
static bool first_event(struct api_call *call, uint64_t *ret_from)
{
    const char *last = api_header(call, "last-event-id");
    *ret_from = api_query_number(call, "from", HUTCH_AUDIT_TO_COME);
    if (!last || !*last)
        return true;
    if (!server_number(last, INT64_MAX, ret_from)) {
        api_problem(call, 400, "invalid", "Last-Event-ID: '%.40s' is no event's number", last);
        return false;
    }
    ++*ret_from;
    return true;
}

static void handle_events(struct api_call *call)
{
    uint64_t from;
    enum events_form form = events_form_of(call);
    if (first_event(call, &from))
        events_hub_listen(host_events(api_server(call)->host), call,
                          form == EVENTS_NONE ? EVENTS_SSE : form, from, api_query(call, "label"));
}

static const struct api_field events_query[] = {
    {"from", API_INTEGER, false,
     "The number of the first event; without it, those to come. Last-Event-ID goes first.", 0},
    {"label", API_TEXT, false, "KEY or KEY=VALUE: of sandboxes and runs that have it.", 0},
    {"stream", API_FORM, false, "sse, or ndjson.", 0},
    {0},
};

const struct api_route routes_of_events[] = {
    {"GET", "/api/events", "followEvents",
     "Events of the audit as they happen: id is the event's number, data is the event.", API_READ,
     API_STREAMS | API_BYTES, events_query, NULL, 200, NULL, handle_events, NULL},
    {0},
};
