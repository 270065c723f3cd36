/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/operands.h"
#include "cli/output.h"
#include "cli/plain.h"
#include "hutch/audit.h"
#include "hutch/spec.h"

enum { PIECE_BYTES = 1 << 20 };

struct audit_request {
    const char *since;
    const char *label;
    const char *expect;
    const char *prune;
    bool verify;
    bool json;
};

static const struct cli_option audit_options[] = {
    {.name = "since",
     .kind = CLI_OPTION_TEXT,
     .offset = offsetof(struct audit_request, since),
     .metavar = "TIME",
     .help = "Only what happened since then: how long ago (90m, 24h), or a moment in UTC "
             "(2026-11-16, 2026-11-16T10:00:00Z)."},
    {.name = "label",
     .kind = CLI_OPTION_TEXT,
     .offset = offsetof(struct audit_request, label),
     .metavar = "KEY[=VALUE]",
     .help = "Only about runs and sandboxes with this label."},
    {.name = "verify",
     .kind = CLI_OPTION_BOOL,
     .offset = offsetof(struct audit_request, verify),
     .help = "Follow the chain of hashes from the first event to the last, and name what does not "
             "fit."},
    {.name = "expect",
     .kind = CLI_OPTION_TEXT,
     .offset = offsetof(struct audit_request, expect),
     .metavar = "SEQ:HASH",
     .help = "With --verify: this event must have this hash, as an earlier --verify printed it."},
    {.name = "prune",
     .kind = CLI_OPTION_TEXT,
     .offset = offsetof(struct audit_request, prune),
     .metavar = "AGE",
     .help = "Remove what is older, from the beginning on; the rest still verifies."},
    {.name = "json",
     .kind = CLI_OPTION_BOOL,
     .offset = offsetof(struct audit_request, json),
     .help = "Print one JSON object."},
};

/* ---- listing --------------------------------------------------------------------------------- */

struct listing {
    struct cli_text text;
    bool json;
    size_t count;
    struct hutch_error err;
};

/* Long ones go out in pieces. */
static int send_piece(struct listing *listing)
{
    if (ftello(listing->text.file) < PIECE_BYTES)
        return 0;
    if (cli_text_show(&listing->text, &listing->err) < 0)
        return -1;
    rewind(listing->text.file);
    return 0;
}

static int list_event(void *userdata, const struct hutch_audit_event *event)
{
    struct listing *listing = userdata;
    FILE *file = listing->text.file;
    if (listing->json) {
        (void)fprintf(file, "%s%s", listing->count++ ? ",\n" : "", event->json);
        return send_piece(listing);
    }
    char who[24] = "-";
    if (event->uid >= 0)
        (void)snprintf(who, sizeof(who), "%" PRId64, event->uid);
    (void)fprintf(file, "%-27s %5s %-9s ", event->time, who, event->kind);
    cli_plain_write(file, *event->sandbox ? event->sandbox : "-");
    (void)fputc(' ', file);
    cli_plain_write(file, event->detail);
    (void)fputc('\n', file);
    return send_piece(listing);
}

static void listing_done(struct listing *listing)
{
    cli_text_done(&listing->text);
}

static int list(const struct audit_request *request, struct hutch_error *err)
{
    struct hutch_audit_query query = HUTCH_AUDIT_QUERY_INIT;
    CLI_CLEANUP(listing_done) struct listing listing = {.json = request->json};
    query.since = request->since;
    query.label = request->label;
    if (cli_text_open(&listing.text, err) < 0)
        return -(int)err->code;
    if (request->json)
        (void)fputs("{\"events\":[", listing.text.file);
    if (hutch_audit_read(&query, list_event, &listing, err) < 0) {
        if (listing.err.code)
            *err = listing.err;
        return -(int)err->code;
    }
    if (request->json)
        (void)fputs("]}\n", listing.text.file);
    return cli_text_send(&listing.text, err);
}

/* ---- verifying ------------------------------------------------------------------------------- */

static void list_fault(void *userdata, const struct hutch_audit_fault *fault)
{
    struct listing *listing = userdata;
    FILE *file = listing->text.file;
    if (!listing->json) {
        (void)fprintf(file, "event %" PRIu64 " (%s): %s\n", fault->seq, fault->where, fault->what);
        return;
    }
    (void)fprintf(file, "%s{\"seq\":%" PRIu64 ",\"where\":", listing->count++ ? "," : "",
                  fault->seq);
    cli_json_string(file, fault->where);
    (void)fputs(",\"what\":", file);
    cli_json_string(file, fault->what);
    (void)fputc('}', file);
}

static void sum_up(FILE *file, const struct hutch_audit_verified *verified)
{
    (void)fprintf(file, "%" PRIu64 " events verified", verified->events);
    if (verified->removed)
        (void)fprintf(file, ", %" PRIu64 " before them were removed", verified->removed);
    if (verified->last_seq)
        (void)fprintf(file, "; the last is %" PRIu64 ":%s", verified->last_seq,
                      verified->last_hash);
    (void)fputc('\n', file);
}

static int verify(const struct audit_request *request, struct hutch_error *err)
{
    struct hutch_audit_verified verified;
    CLI_CLEANUP(listing_done) struct listing listing = {.json = request->json};
    if (cli_text_open(&listing.text, err) < 0)
        return -(int)err->code;
    FILE *file = listing.text.file;
    if (request->json)
        (void)fputs("{\"faults\":[", file);
    if (hutch_audit_verify(request->expect, list_fault, &listing, &verified, err) < 0)
        return -(int)err->code;
    if (request->json)
        (void)fprintf(file,
                      "],\"ok\":%s,\"events\":%" PRIu64 ",\"removed\":%" PRIu64
                      ",\"last_seq\":%" PRIu64 ",\"last_hash\":\"%s\"}\n",
                      verified.faults ? "false" : "true", verified.events, verified.removed,
                      verified.last_seq, verified.last_hash);
    else if (!verified.faults)
        sum_up(file, &verified);
    if (cli_text_send(&listing.text, err) < 0)
        return -(int)err->code;
    if (!verified.faults)
        return 0;
    return cli_fail(err, HUTCH_E_CONFLICT,
                    "the audit is not as it was written: %" PRIu64 " of its events do not fit",
                    verified.faults);
}

/* ---- pruning --------------------------------------------------------------------------------- */

static int prune(const struct audit_request *request, struct hutch_error *err)
{
    uint64_t age_ms = 0, removed = 0;
    CLI_CLEANUP(listing_done) struct listing listing = {0};
    if (hutch_duration_parse(request->prune, &age_ms, err) < 0 ||
        cli_text_open(&listing.text, err) < 0 || hutch_audit_prune(age_ms, &removed, err) < 0)
        return -(int)err->code;
    (void)fprintf(listing.text.file,
                  request->json ? "{\"removed\":%" PRIu64 "}\n" : "removed %" PRIu64 " events\n",
                  removed);
    return cli_text_send(&listing.text, err);
}

static int check(const struct audit_request *request, struct hutch_error *err)
{
    bool lists = request->since || request->label;
    if (request->expect && !request->verify)
        return cli_fail(err, HUTCH_E_INVALID,
                        "'--expect' says what '--verify' compares with; give "
                        "both");
    if ((request->verify && (lists || request->prune)) || (request->prune && lists))
        return cli_fail(err, HUTCH_E_INVALID,
                        "'--verify' and '--prune' are about all of the audit; give one of them "
                        "without '--since' and '--label'");
    return 0;
}

static int cmd_audit(const struct cli_verb *verb, int argc, char **argv)
{
    struct audit_request request = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    int status = 0;
    if (!cli_begin_alone(verb, argc, argv, &request, &status))
        return status;
    int failed = check(&request, &err);
    if (failed == 0)
        failed = request.verify  ? verify(&request, &err)
                 : request.prune ? prune(&request, &err)
                                 : list(&request, &err);
    return failed < 0 ? cli_report(&err) : 0;
}

const struct cli_verb cli_verb_audit = {
    .name = "audit",
    .group = "This machine",
    .summary = "Tell who did what, and verify that nothing of it was changed",
    .usage = "[FLAG]...",
    .options = audit_options,
    .option_count = CLI_COUNT(audit_options),
    .run = cmd_audit,
};
