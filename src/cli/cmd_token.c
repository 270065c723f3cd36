/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/operands.h"
#include "cli/output.h"
#include "cli/table.h"
#include "server/tokens.h"

struct token_flags {
    struct token_request request;
    bool json;
};

#define JSON_FLAG                                                                              \
    {                                                                                          \
        .name = "json", .kind = CLI_OPTION_BOOL, .offset = offsetof(struct token_flags, json), \
        .help = "Print one JSON object."                                                       \
    }

/* "" for a time that never comes. */
static void format_time(uint64_t seconds, char text[24])
{
    time_t when = (time_t)seconds;
    struct tm parts;
    text[0] = '\0';
    if (seconds && gmtime_r(&when, &parts))
        (void)strftime(text, 24, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

static void print_pair(FILE *file, const char *key, const char *text)
{
    (void)fprintf(file, "%s\"%s\":", strcmp(key, "id") ? "," : "{", key);
    if (*text)
        cli_json_string(file, text);
    else
        (void)fputs("null", file);
}

/* Without the closing brace. */
static void print_token(FILE *file, const struct token *token)
{
    char created[24], expires[24];
    format_time(token->created_s, created);
    format_time(token->expires_s, expires);
    print_pair(file, "id", token->id);
    print_pair(file, "name", token->name);
    print_pair(file, "tenant", token->tenant);
    print_pair(file, "scope", token->scope);
    print_pair(file, "created", created);
    print_pair(file, "expires", expires);
}

/* ---- create ---------------------------------------------------------------------------------- */

static const struct cli_option create_options[] = {
    {.name = "tenant",
     .kind = CLI_OPTION_TEXT,
     .offset = offsetof(struct token_flags, request.tenant),
     .metavar = "NAME",
     .help = "Whose it is: it sees and makes only this tenant's sandboxes. Without it, it is yours "
             "and sees everything."},
    {.name = "scope",
     .kind = CLI_OPTION_TEXT,
     .offset = offsetof(struct token_flags, request.scope),
     .metavar = "SCOPE",
     .default_text = "write",
     .help = "What it is good for: read, write (and read) or admin (and both)."},
    {.name = "expires",
     .kind = CLI_OPTION_TEXT,
     .offset = offsetof(struct token_flags, request.expires),
     .metavar = "TIME",
     .default_text = "never",
     .help = "How long it is good: 12h, 30d."},
    {.name = "name",
     .kind = CLI_OPTION_TEXT,
     .offset = offsetof(struct token_flags, request.name),
     .metavar = "NAME",
     .help = "What it is called in logs."},
    JSON_FLAG,
};

static int create(const struct token_flags *flags, struct hutch_error *err)
{
    CLI_CLEANUP(cli_text_done) struct cli_text text = {0};
    char secret[TOKEN_BYTES];
    struct token token;
    int failed = cli_text_open(&text, err);
    if (!failed)
        failed = token_create(&flags->request, secret, &token, err);
    if (failed)
        return failed;
    if (flags->json) {
        print_token(text.file, &token);
        print_pair(text.file, "token", secret);
        (void)fputs("}\n", text.file);
    } else {
        (void)fprintf(text.file, "%s\n", secret);
    }
    failed = cli_text_send(&text, err);
    if (failed) { /* nobody has it, so nobody is to be able to use it */
        struct hutch_error ignored = HUTCH_ERROR_INIT;
        (void)!token_remove(token.id, &ignored);
    }
    return failed;
}

static int cmd_create(const struct cli_verb *verb, int argc, char **argv)
{
    struct token_flags flags = {.request.scope = "write"};
    struct hutch_error err = HUTCH_ERROR_INIT;
    int status = 0;
    if (!cli_begin_alone(verb, argc, argv, &flags, &status))
        return status;
    return create(&flags, &err) < 0 ? cli_report(&err) : 0;
}

static const struct cli_verb verb_create = {
    .name = "token create",
    .summary = "Make a token and print it, this once",
    .usage = "[FLAG]...",
    .details = "Only a hash of it is kept. It is good at once, without a restart of the daemon.\n",
    .options = create_options,
    .option_count = CLI_COUNT(create_options),
    .run = cmd_create,
};

/* ---- ls -------------------------------------------------------------------------------------- */

static const struct cli_option list_options[] = {JSON_FLAG};

static const struct cli_column columns[] = {
    {.title = "ID", .least = 16},     {.title = "NAME", .least = 8},
    {.title = "TENANT", .least = 8},  {.title = "SCOPE", .least = 5},
    {.title = "CREATED", .least = 8}, {.title = "EXPIRES", .least = 8},
};

struct listing {
    FILE *file;
    struct cli_table table;
    size_t count;
    bool json;
};

static int list_one(void *userdata, const struct token *token)
{
    struct listing *listing = userdata;
    if (listing->json) {
        (void)fputs(listing->count++ ? "," : "", listing->file);
        print_token(listing->file, token);
        (void)fputc('}', listing->file);
        return 0;
    }
    char created[24], expires[24];
    format_time(token->created_s, created);
    format_time(token->expires_s, expires);
    const char *const cells[] = {token->id,    token->name, token->tenant,
                                 token->scope, created,     *expires ? expires : "never"};
    for (size_t i = 0; i < CLI_COUNT(cells); i++)
        cli_table_add(&listing->table, cells[i]);
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
    (void)fputs(listing->json ? "{\"tokens\":[" : "", text.file);
    failed = token_list(list_one, listing, err);
    (void)fputs(listing->json ? "]}\n" : "", text.file);
    if (!failed && !listing->json)
        failed = cli_table_print(&listing->table, text.file, &view, err);
    return failed ? failed : cli_text_send(&text, err);
}

static int cmd_ls(const struct cli_verb *verb, int argc, char **argv)
{
    struct token_flags flags = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    int status = 0;
    if (!cli_begin_alone(verb, argc, argv, &flags, &status))
        return status;
    struct listing listing = {
        .table = {.columns = columns, .column_count = CLI_COUNT(columns)},
        .json = flags.json,
    };
    int failed = list(&listing, &err);
    cli_table_done(&listing.table);
    return failed ? cli_report(&err) : 0;
}

static const struct cli_verb verb_ls = {
    .name = "token ls",
    .summary = "List the tokens, without what is secret of them",
    .usage = "[FLAG]...",
    .options = list_options,
    .option_count = CLI_COUNT(list_options),
    .run = cmd_ls,
};

/* ---- rm -------------------------------------------------------------------------------------- */

static int cmd_rm(const struct cli_verb *verb, int argc, char **argv)
{
    int index = 0, status = 0;
    if (!cli_begin(verb, argc, argv, NULL, (struct cli_count){1, CLI_ANY}, &index, &status))
        return status;
    for (; index < argc; index++) {
        struct hutch_error err = HUTCH_ERROR_INIT;
        if (token_remove(argv[index], &err) < 0)
            status = cli_report(&err);
    }
    return status;
}

static const struct cli_verb verb_rm = {
    .name = "token rm",
    .summary = "Take tokens back, by id or by name, at once",
    .usage = "TOKEN...",
    .run = cmd_rm,
};

static const struct cli_verb *const verbs[] = {&verb_create, &verb_ls, &verb_rm};

static const struct cli_verb *const *token_verbs(size_t *ret_count)
{
    *ret_count = CLI_COUNT(verbs);
    return verbs;
}

const struct cli_verb cli_verb_token = {
    .name = "token",
    .group = "This machine",
    .summary = "Make, list and take back tokens for 'hutch serve'",
    .usage = "COMMAND [FLAG]... [ARGUMENT]...",
    .inner = token_verbs,
    .run = cli_run_inner,
};
