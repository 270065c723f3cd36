/* SPDX-License-Identifier: Apache-2.0 */
/* What was done and what it cost. A tenant is told of its own sandboxes and runs alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hutch/audit.h"
#include "server/routes.h"
#include "server/util.h"

#define EVENTS_USUAL 1000
#define EVENTS_MOST 10000

static struct hutch_audit_query query_of(const struct api_call *call)
{
    struct hutch_audit_query query = HUTCH_AUDIT_QUERY_INIT;
    query.since = api_query(call, "since");
    query.label = api_query(call, "label");
    query.tenant = api_who(call)->tenant;
    return query;
}

/* ---- events ---------------------------------------------------------------------------------- */

struct listing {
    FILE *out;
    uint64_t limit;
    uint64_t count;
    uint64_t next; /* 0: that was all */
};

/* An event is JSON already, and goes on as it is. One that is damaged has only its number. */
static int list_one(void *userdata, const struct hutch_audit_event *event)
{
    struct listing *listing = userdata;
    if (listing->count == listing->limit) {
        listing->next = event->seq;
        return 1;
    }
    const char *comma = listing->count++ ? "," : "";
    if (strcmp(event->json, "null") != 0)
        (void)fprintf(listing->out, "%s%s", comma, event->json);
    else
        (void)fprintf(listing->out, "%s{\"seq\":%llu,\"kind\":\"damaged\"}", comma,
                      (unsigned long long)event->seq);
    return 0;
}

static void handle_events(struct api_call *call)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_audit_query query = query_of(call);
    struct listing listing = {.limit = api_query_number(call, "limit", EVENTS_USUAL)};
    char *text = NULL;
    size_t length = 0;
    query.from = api_query_number(call, "from", 0);
    if (!listing.limit || listing.limit > EVENTS_MOST) {
        api_problem(call, 400, "invalid", "limit: write a number from 1 to %d", EVENTS_MOST);
        return;
    }
    listing.out = open_memstream(&text, &length);
    if (!listing.out) {
        api_problem(call, 503, "no_memory", "out of memory");
        return;
    }
    (void)fputs("{\"events\":[", listing.out);
    int status = hutch_audit_read(&query, list_one, &listing, &err);
    (void)fprintf(listing.out, listing.next ? "],\"next\":%llu}" : "],\"next\":null}",
                  (unsigned long long)listing.next);
    bool is_lost = ferror(listing.out) != 0;
    is_lost |= fclose(listing.out) != 0;
    if (status >= 0 && !is_lost) {
        api_reply_json_text(call, 200, text);
        return;
    }
    free(text);
    if (status < 0)
        api_fail(call, &err);
    else
        api_problem(call, 503, "no_memory", "out of memory; ask for fewer events with limit=");
}

/* ---- whether they are true ------------------------------------------------------------------- */

static void note_fault(void *userdata, const struct hutch_audit_fault *fault)
{
    (void)json_array_append_new(userdata, json_pack("{s:I,s:s,s:s}", "seq", (json_int_t)fault->seq,
                                                    "where", fault->where, "what", fault->what));
}

static void handle_verify(struct api_call *call)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_audit_verified verified;
    if (api_who(call)->tenant) {
        api_problem(call, 403, "permission",
                    "the journal is everybody's: whoever runs the daemon verifies it");
        return;
    }
    json_t *faults = json_array();
    if (hutch_audit_verify(api_query(call, "expect"), note_fault, faults, &verified, &err) < 0) {
        json_decref(faults);
        api_fail(call, &err);
        return;
    }
    api_reply(call, 200,
              json_pack("{s:b,s:I,s:I,s:I,s:s,s:o}", "ok", !verified.faults, "events",
                        (json_int_t)verified.events, "removed", (json_int_t)verified.removed,
                        "last_seq", (json_int_t)verified.last_seq, "last_hash", verified.last_hash,
                        "faults", faults));
}

/* ---- what it cost ---------------------------------------------------------------------------- */

static int add_sum(void *userdata, const struct hutch_audit_sum *sum)
{
    return json_array_append_new(
        userdata,
        json_pack("{s:s,s:I,s:f,s:f,s:I}", "group", sum->group, "runs", (json_int_t)sum->runs,
                  "cpu_seconds", (double)sum->cpu_us / 1e6, "memory_mib_seconds",
                  sum->memory_mib_seconds, "egress_bytes", (json_int_t)sum->egress_bytes));
}

static void handle_usage(struct api_call *call)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_audit_query query = query_of(call);
    const char *by = api_query(call, "by");
    json_t *sums = json_array();
    if (!by)
        by = "user";
    if (hutch_audit_usage(by, &query, add_sum, sums, &err) < 0) {
        json_decref(sums);
        api_fail(call, &err);
        return;
    }
    api_reply(call, 200, json_pack("{s:s,s:o}", "by", by, "usage", sums));
}

/* ---- the table ------------------------------------------------------------------------------- */

#define SINCE_ROW                                                                              \
    {                                                                                          \
        "since", API_TEXT, false, "2026-11-16, 2026-11-16T10:00:00Z, or how long ago: 90m.", 0 \
    }
#define LABEL_ROW                                                                            \
    {                                                                                        \
        "label", API_TEXT, false, "KEY or KEY=VALUE: of sandboxes and runs that have it.", 0 \
    }

static const struct api_field events_query[] = {
    SINCE_ROW,
    LABEL_ROW,
    {"from", API_INTEGER, false, "The number of the first event.", 0},
    {"limit", API_INTEGER, false, "How many events, at most 10000; without it, 1000.", 0},
    {0},
};
static const struct api_field verify_query[] = {
    {"expect", API_TEXT, false, "SEQ:HASH of an event, as an earlier answer told it.", 0},
    {0},
};
static const struct api_field usage_query[] = {
    {"by", API_TEXT, false, "label.KEY, user, image, backend or day; without it, user.", 0},
    SINCE_ROW,
    LABEL_ROW,
    {0},
};

const struct api_route routes_of_audit[] = {
    {"GET", "/api/audit", "listAudit", "What was done, in the order in which it happened.",
     API_ADMIN, 0, events_query, NULL, 200, "Events", handle_events, NULL},
    {"GET", "/api/audit/verify", "verifyAudit", "Whether the audit is as it was written.",
     API_ADMIN, 0, verify_query, NULL, 200, "AuditVerified", handle_verify, NULL},
    {"GET", "/api/usage", "getUsage", "What runs and sandboxes that have ended used.", API_READ, 0,
     usage_query, NULL, 200, "Usage", handle_usage, NULL},
    {0},
};
