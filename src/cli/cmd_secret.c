/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/help.h"
#include "cli/operands.h"
#include "cli/output.h"
#include "cli/table.h"
#include "hutch/secret.h"

struct secret_request {
    bool json;
};

struct listing {
    FILE *file; /* JSON goes there, and rows into the table */
    struct cli_table table;
    bool json;
    size_t count;
};

static const struct cli_option list_options[] = {
    {.name = "json",
     .kind = CLI_OPTION_BOOL,
     .offset = offsetof(struct secret_request, json),
     .help = "Print one JSON object."},
};

static const struct cli_column columns[] = {
    {.title = "NAME", .least = 10},
    {.title = "PROVIDER", .leave = 1},
    {.title = "SOURCE", .least = 16},
    {.title = "CONFIGURED IN", .least = 16},
};

static void print_member(FILE *file, const char *key, const char *text)
{
    (void)fprintf(file, "%s\"%s\":", strcmp(key, "name") ? "," : "{", key);
    if (text)
        cli_json_string(file, text);
    else
        (void)fputs("null", file);
}

static int list_one(void *userdata, const struct hutch_secret_info *secret)
{
    struct listing *listing = userdata;
    if (!listing->json) {
        cli_table_add(&listing->table, secret->name);
        cli_table_add(&listing->table, secret->provider);
        cli_table_add(&listing->table, secret->source);
        cli_table_add(&listing->table, secret->config ? secret->config : "");
        return 0;
    }
    (void)fputs(listing->count++ ? "," : "", listing->file);
    print_member(listing->file, "name", secret->name);
    print_member(listing->file, "provider", secret->provider);
    print_member(listing->file, "source", secret->source);
    print_member(listing->file, "config", secret->config);
    (void)fputc('}', listing->file);
    return 0;
}

static int list(struct listing *listing, struct hutch_error *err)
{
    CLI_CLEANUP(cli_text_done) struct cli_text text = {0};
    struct cli_view view = cli_view_of_stdout();
    view.height = 0;
    int failed = cli_text_open(&text, err);
    if (failed)
        return failed;
    listing->file = text.file;
    if (listing->json)
        (void)fputs("{\"secrets\":[", text.file);
    failed = hutch_secret_list(list_one, listing, err);
    if (!failed && listing->json)
        (void)fputs("]}\n", text.file);
    else if (!failed)
        failed = cli_table_print(&listing->table, text.file, &view, err);
    return failed ? failed : cli_text_send(&text, err);
}

static int cmd_secret_ls(const struct cli_verb *verb, int argc, char **argv)
{
    struct secret_request request = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    int status = 0;
    if (!cli_begin_alone(verb, argc, argv, &request, &status))
        return status;
    struct listing listing = {
        .table = {.columns = columns, .column_count = CLI_COUNT(columns)},
        .json = request.json,
    };
    int failed = list(&listing, &err);
    cli_table_done(&listing.table);
    return failed ? cli_report(&err) : 0;
}

static const struct cli_verb secret_ls = {
    .name = "secret ls",
    .group = "Secrets",
    .summary = "List the secrets there are, by name",
    .usage = "[FLAG]...",
    .details = "Values are never shown; nothing reads them but what a sandbox gets.\n",
    .options = list_options,
    .option_count = CLI_COUNT(list_options),
    .run = cmd_secret_ls,
};

static const struct cli_verb *const *secret_verbs(size_t *ret_count)
{
    static const struct cli_verb *const verbs[] = {&secret_ls};
    *ret_count = CLI_COUNT(verbs);
    return verbs;
}

/* The words before the command can only be a call for help. */
const struct cli_verb cli_verb_secret = {
    .name = "secret",
    .group = "This machine",
    .summary = "Tell which secrets there are",
    .usage = "ls [FLAG]...",
    .details = "A sandbox gets a secret by its name: 'hutch run --secret NAME'. Where values\n"
               "come from is said in secrets.yml or secrets.json, see hutch-secrets(5).\n",
    .inner = secret_verbs,
    .run = cli_run_inner,
};
