/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/operands.h"
#include "cli/output.h"
#include "cli/table.h"
#include "server/serve.h"

struct serve_request {
    struct serve_options options;
    struct cli_list listen;
    struct cli_list pools;
    struct cli_list limits;
    struct cli_list host_names;
    struct cli_list cors_origins;
    bool list_limits;
};

#define TEXT(member) .kind = CLI_OPTION_TEXT, .offset = offsetof(struct serve_request, member)
#define FLAG(member) .kind = CLI_OPTION_BOOL, .offset = offsetof(struct serve_request, member)
#define LIST(member) \
    .kind = CLI_OPTION_LIST, .repeats = true, .offset = offsetof(struct serve_request, member)

static const struct cli_option serve_options[] = {
    {.name = "listen",
     LIST(listen),
     .metavar = "ADDRESS:PORT",
     .default_text = "127.0.0.1:8888",
     .help = "Listen there; 'none': on the unix socket alone."},
    {.name = "socket",
     TEXT(options.socket),
     .metavar = "PATH",
     .default_text = "serve.sock in the run directory",
     .help = "The unix socket, where clients are known by their uid."},
    {.name = "socket-group",
     TEXT(options.socket_group),
     .metavar = "GROUP",
     .help = "Let this group connect to the unix socket; who of it is let in says the policy."},
    {.name = "tls-cert",
     TEXT(options.tls_cert),
     .metavar = "FILE",
     .help = "Certificate, with those between it and its authority (PEM): TLS on every TCP port."},
    {.name = "tls-key", TEXT(options.tls_key), .metavar = "FILE", .help = "Its key (PEM)."},
    {.name = "client-ca",
     TEXT(options.client_ca),
     .metavar = "FILE",
     .help = "Let only clients in whose certificates these authorities have signed (PEM)."},
    {.name = "policy",
     TEXT(options.policy),
     .metavar = "FILE",
     .help = "Hold every request against this policy as well as the host's; read again on SIGHUP "
             "and when it changes."},
    {.name = "host-name",
     LIST(host_names),
     .metavar = "NAME",
     .help = "A name under which clients know this host, beside its address and those of the "
             "certificate."},
    {.name = "cors-origin",
     LIST(cors_origins),
     .metavar = "ORIGIN",
     .help = "Let pages of this origin, such as https://hutch.example, ask."},
    {.name = "pool",
     LIST(pools),
     .metavar = "TEMPLATE=N",
     .help = "Keep N started sandboxes of this template ready."},
    {.name = "limit",
     LIST(limits),
     .metavar = "NAME=VALUE",
     .help = "Set a limit; --list-limits tells which there are."},
    {.name = "list-limits",
     FLAG(list_limits),
     .help = "List the limits and what they are by default, and do nothing else."},
    {.name = "access-log",
     TEXT(options.access_log),
     .metavar = "FILE",
     .help = "Write a line of JSON for every request; '-': to standard output."},
    {.name = "insecure-no-auth",
     FLAG(options.insecure_no_auth),
     .help = "Ask nobody for a token: whoever reaches the port may do everything. Only on loopback "
             "addresses."},
    {.name = "insecure-no-tls",
     FLAG(options.insecure_no_tls),
     .help = "Listen on an address that others reach though tokens travel unencrypted."},
};

static void request_done(struct serve_request *request)
{
    cli_list_done(&request->listen);
    cli_list_done(&request->pools);
    cli_list_done(&request->limits);
    cli_list_done(&request->host_names);
    cli_list_done(&request->cors_origins);
}

static const struct cli_column columns[] = {
    {.title = "LIMIT", .least = 16},
    {.title = "DEFAULT", .least = 8},
    {.title = "WHAT IT IS"},
};

static void add_row(struct cli_table *table, const struct serve_limit *limit)
{
    char usual[32] = "by the machine";
    if (limit->usual)
        (void)snprintf(usual, sizeof(usual), "%" PRIu64, limit->usual);
    cli_table_add(table, limit->name);
    cli_table_add(table, usual);
    cli_table_add(table, limit->doc);
}

static int list_limits(struct hutch_error *err)
{
    CLI_CLEANUP(cli_text_done) struct cli_text text = {0};
    CLI_CLEANUP(cli_table_done)
    struct cli_table table = {.columns = columns, .column_count = CLI_COUNT(columns)};
    struct cli_view view = cli_view_of_stdout();
    struct serve_limit limit;
    view.height = 0;
    for (size_t i = 0; serve_limit_at(i, &limit); i++)
        add_row(&table, &limit);
    int failed = cli_text_open(&text, err);
    if (!failed)
        failed = cli_table_print(&table, text.file, &view, err);
    return failed ? failed : cli_text_send(&text, err);
}

static int cmd_serve(const struct cli_verb *verb, int argc, char **argv)
{
    CLI_CLEANUP(request_done) struct serve_request request = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    int status = 0;
    if (!cli_begin_alone(verb, argc, argv, &request, &status))
        return status;
    request.options.listen = request.listen.items;
    request.options.pools = request.pools.items;
    request.options.limits = request.limits.items;
    request.options.host_names = request.host_names.items;
    request.options.cors_origins = request.cors_origins.items;
    int failed = request.list_limits ? list_limits(&err) : serve_main(&request.options, &err);
    return failed ? cli_report(&err) : 0;
}

const struct cli_verb cli_verb_serve = {
    .name = "serve",
    .group = "This machine",
    .summary = "Serve the REST API on a port and a unix socket",
    .usage = "[FLAG]...",
    .details = "Who asks by TCP needs a token: 'hutch token create'. SIGTERM ends it when what\n"
               "was asked is answered; sandboxes live on. GET /openapi.json tells what can be\n"
               "asked.\n",
    .options = serve_options,
    .option_count = CLI_COUNT(serve_options),
    .run = cmd_serve,
};
