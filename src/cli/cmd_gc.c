/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/operands.h"
#include "cli/output.h"
#include "hutch/host.h"

struct gc_request {
    bool dry_run;
    bool json;
};

struct gc_listing {
    FILE *file;
    const struct gc_request *request;
    size_t count;
};

static const struct cli_option gc_options[] = {
    {.name = "dry-run",
     .kind = CLI_OPTION_BOOL,
     .offset = offsetof(struct gc_request, dry_run),
     .help = "Only tell what would be removed."},
    {.name = "json",
     .kind = CLI_OPTION_BOOL,
     .offset = offsetof(struct gc_request, json),
     .help = "Print one JSON object."},
};

static void list_item(void *userdata, const char *kind, const char *what)
{
    struct gc_listing *listing = userdata;
    FILE *file = listing->file;
    if (listing->request->json) {
        (void)fputs(listing->count ? ",{\"kind\":" : "{\"kind\":", file);
        cli_json_string(file, kind);
        (void)fputs(",\"what\":", file);
        cli_json_string(file, what);
        (void)fputc('}', file);
    } else {
        (void)fprintf(file, "%s %s %s\n", listing->request->dry_run ? "would remove" : "removed",
                      kind, what);
    }
    listing->count++;
}

/* What was removed is told even when the sweep then failed. */
static int sweep(const struct gc_request *request, struct hutch_error *err)
{
    CLI_CLEANUP(cli_text_done) struct cli_text text = {0};
    struct hutch_error lost = HUTCH_ERROR_INIT;
    int failed = cli_text_open(&text, err);
    if (failed)
        return failed;
    struct gc_listing listing = {.file = text.file, .request = request};
    if (request->json)
        (void)fprintf(text.file, "{\"dry_run\":%s,\"items\":[",
                      request->dry_run ? "true" : "false");
    failed = hutch_gc(request->dry_run, list_item, &listing, err);
    if (request->json)
        (void)fprintf(text.file, "],\"ok\":%s}\n", failed ? "false" : "true");
    else if (!failed && !listing.count)
        (void)fputs("nothing to remove\n", text.file);
    int unsent = cli_text_send(&text, failed ? &lost : err);
    return failed ? failed : unsent;
}

static int cmd_gc(const struct cli_verb *verb, int argc, char **argv)
{
    struct gc_request request = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    int status = 0;
    if (!cli_begin_alone(verb, argc, argv, &request, &status))
        return status;
    return sweep(&request, &err) < 0 ? cli_report(&err) : 0;
}

const struct cli_verb cli_verb_gc = {
    .name = "gc",
    .group = "This machine",
    .summary = "Remove what sandboxes left behind whose hutch was killed",
    .usage = "[FLAG]...",
    .options = gc_options,
    .option_count = CLI_COUNT(gc_options),
    .run = cmd_gc,
};
