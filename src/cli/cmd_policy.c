/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/operands.h"
#include "cli/output.h"
#include "cli/table.h"
#include "hutch/policy.h"

/* ---- check ----------------------------------------------------------------------------------- */

static int cmd_check(const struct cli_verb *verb, int argc, char **argv)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    int index = 0, status = 0;
    if (!cli_begin(verb, argc, argv, NULL, (struct cli_count){1, CLI_ANY}, &index, &status))
        return status;
    for (; index < argc; index++)
        if (hutch_policy_check(argv[index], &err) < 0)
            status = cli_report(&err);
    return status;
}

static const struct cli_verb verb_check = {
    .name = "policy check",
    .summary = "Say whether a file is a policy that would be in force",
    .usage = "FILE...",
    .details =
        "Says nothing and exits with 0 when all is well. Otherwise the message has the line.\n"
        "The file must belong to root or to you and be writable for its owner alone.\n",
    .run = cmd_check,
};

/* ---- show ------------------------------------------------------------------------------------ */

struct show_request {
    bool json;
    const char *policy;
    const char *tenant;
};

static const struct cli_option show_options[] = {
    {.name = "policy",
     .kind = CLI_OPTION_TEXT,
     .offset = offsetof(struct show_request, policy),
     .metavar = "FILE",
     .help = "Take this file instead of the user's own; the host's is always part of it."},
    {.name = "tenant",
     .kind = CLI_OPTION_TEXT,
     .offset = offsetof(struct show_request, tenant),
     .metavar = "NAME",
     .help = "Show what holds for this tenant, instead of for you."},
    {.name = "json",
     .kind = CLI_OPTION_BOOL,
     .offset = offsetof(struct show_request, json),
     .help = "Print one JSON object."},
};

static const struct cli_column columns[] = {
    {.title = "RULE", .least = 16},
    {.title = "VALUE", .least = 10},
    {.title = "FROM", .least = 10},
};

struct listing {
    FILE *file;
    struct cli_table table;
    size_t count;
};

static int add_row(void *userdata, const struct hutch_policy_rule *rule)
{
    struct listing *listing = userdata;
    cli_table_add(&listing->table, rule->name);
    cli_table_add(&listing->table, rule->value);
    cli_table_add(&listing->table, rule->from);
    return 0;
}

static int add_json(void *userdata, const struct hutch_policy_rule *rule)
{
    struct listing *listing = userdata;
    (void)fputs(listing->count++ ? ",{\"rule\":" : "{\"rule\":", listing->file);
    cli_json_string(listing->file, rule->name);
    (void)fputs(",\"value\":", listing->file);
    cli_json_string(listing->file, rule->value);
    (void)fputs(",\"from\":", listing->file);
    cli_json_string(listing->file, rule->from);
    (void)fputc('}', listing->file);
    return 0;
}

static int print_json(const struct show_request *request, struct hutch_policy *policy,
                      struct listing *listing, struct hutch_error *err)
{
    char hash[HUTCH_POLICY_HASH_BYTES];
    const char *path = NULL;
    const char *tenant = request->tenant ? request->tenant : hutch_policy_tenant(policy);
    hutch_policy_hash(policy, hash);
    (void)fputs("{\"files\":[", listing->file);
    for (size_t i = 0; (path = hutch_policy_path(policy, i)); i++) {
        (void)fputs(i ? "," : "", listing->file);
        cli_json_string(listing->file, path);
    }
    (void)fputs("],\"hash\":", listing->file);
    if (*hash)
        cli_json_string(listing->file, hash);
    else
        (void)fputs("null", listing->file);
    (void)fprintf(listing->file, ",\"uid\":%u,\"tenant\":", (unsigned)getuid());
    if (tenant)
        cli_json_string(listing->file, tenant);
    else
        (void)fputs("null", listing->file);
    (void)fputs(",\"rules\":[", listing->file);
    int failed = hutch_policy_show(policy, request->tenant, add_json, listing, err);
    (void)fputs("]}\n", listing->file);
    return failed;
}

static int print_table(const struct show_request *request, struct hutch_policy *policy,
                       struct listing *listing, struct hutch_error *err)
{
    struct cli_view view = cli_view_of_stdout();
    int failed = hutch_policy_show(policy, request->tenant, add_row, listing, err);
    view.height = 0;
    return failed ? failed : cli_table_print(&listing->table, listing->file, &view, err);
}

static void listing_done(struct listing *listing)
{
    cli_table_done(&listing->table);
}

static void policy_done(struct hutch_policy **policy)
{
    hutch_policy_free(*policy);
}

static int show(const struct show_request *request, struct hutch_error *err)
{
    CLI_CLEANUP(policy_done) struct hutch_policy *policy = NULL;
    CLI_CLEANUP(cli_text_done) struct cli_text text = {0};
    CLI_CLEANUP(listing_done)
    struct listing listing = {.table = {.columns = columns, .column_count = CLI_COUNT(columns)}};
    int failed = hutch_policy_open(request->policy, &policy, err);
    if (!failed)
        failed = cli_text_open(&text, err);
    if (failed)
        return failed;
    listing.file = text.file;
    failed = request->json ? print_json(request, policy, &listing, err)
                           : print_table(request, policy, &listing, err);
    return failed ? failed : cli_text_send(&text, err);
}

static int cmd_show(const struct cli_verb *verb, int argc, char **argv)
{
    struct show_request request = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    int status = 0;
    if (!cli_begin_alone(verb, argc, argv, &request, &status))
        return status;
    return show(&request, &err) < 0 ? cli_report(&err) : status;
}

static const struct cli_verb verb_show = {
    .name = "policy show",
    .summary = "Show the rules that hold, and where each of them stands",
    .usage = "[FLAG]...",
    .options = show_options,
    .option_count = CLI_COUNT(show_options),
    .run = cmd_show,
};

/* ---- both ------------------------------------------------------------------------------------ */

static const struct cli_verb *const verbs[] = {&verb_check, &verb_show};

static const struct cli_verb *const *policy_verbs(size_t *ret_count)
{
    *ret_count = CLI_COUNT(verbs);
    return verbs;
}

const struct cli_verb cli_verb_policy = {
    .name = "policy",
    .group = "This machine",
    .summary = "Check a policy, and show the one that holds",
    .usage = "COMMAND [FLAG]... [ARGUMENT]...",
    .details = "hutch-policy(5) tells what a policy may say.\n",
    .inner = policy_verbs,
    .run = cli_run_inner,
};
