/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/dry_run.h"
#include "cli/handles.h"
#include "cli/help.h"
#include "cli/output.h"
#include "cli/spec_flags.h"

struct create_request {
    bool json;
    bool dry_run;
    struct cli_spec_sources sources;
};

static const struct cli_option create_options[] = {
    CLI_NAMED_OPTIONS(struct create_request, sources.named),
    {.name = "spec",
     .kind = CLI_OPTION_TEXT,
     .offset = offsetof(struct create_request, sources.path),
     .metavar = "FILE",
     .help = "Read the spec from a JSON or YAML document, '-' for standard input; flags win over "
             "it."},
    CLI_POLICY_OPTION(struct create_request, sources.policy),
    {.name = "dry-run",
     .kind = CLI_OPTION_BOOL,
     .offset = offsetof(struct create_request, dry_run),
     .help =
         "Check everything, print what the spec becomes under the policy as JSON, make nothing."},
    {.name = "json",
     .kind = CLI_OPTION_BOOL,
     .offset = offsetof(struct create_request, json),
     .help = "Print everything about the sandbox as one JSON object, instead of its name."},
};

static void request_done(struct create_request *request)
{
    cli_named_done(&request->sources.named);
}

static int build(const struct cli_verb *verb, int argc, char **argv, struct create_request *request,
                 struct hutch_spec **ret_spec, bool *ret_help, struct hutch_error *err)
{
    struct cli_options options;
    int index = 1;
    cli_options_init(&options, verb);
    int failed = cli_options_parse(&options, argc, argv, &index, request, ret_help, err);
    if (failed || *ret_help)
        return failed;
    request->sources.named.no_build = request->dry_run;
    return cli_spec_build(&options, argc, argv, &request->sources, argv + index, ret_spec, err);
}

static int tell(const struct create_request *request, struct hutch_sandbox *sandbox,
                struct hutch_error *err)
{
    CLI_CLEANUP(cli_free) char *json = NULL;
    struct hutch_sandbox_info info;
    if (request->json) {
        if (hutch_sandbox_to_json(sandbox, &json, err) < 0)
            return -(int)err->code;
        return cli_line_send(json, strlen(json), err);
    }
    if (hutch_sandbox_info(sandbox, &info, err) < 0)
        return -(int)err->code;
    return cli_line_send(info.name, strlen(info.name), err);
}

static int cmd_create(const struct cli_verb *verb, int argc, char **argv)
{
    CLI_CLEANUP(cli_spec_free) struct hutch_spec *spec = NULL;
    CLI_CLEANUP(cli_sandbox_free) struct hutch_sandbox *sandbox = NULL;
    CLI_CLEANUP(request_done) struct create_request request = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    bool help = false;
    if (build(verb, argc, argv, &request, &spec, &help, &err) < 0)
        return cli_report(&err);
    if (help)
        return cli_help_verb(verb);
    if (request.dry_run)
        return cli_dry_run(spec, HUTCH_USE_CREATE, request.json);
    if (hutch_sandbox_create(spec, &sandbox, &err) < 0 || tell(&request, sandbox, &err) < 0)
        return cli_report(&err);
    return 0;
}

const struct cli_verb cli_verb_create = {
    .name = "create",
    .group = "Sandboxes",
    .summary = "Make a sandbox that stays, and print its name",
    .usage = "[FLAG]... [[--] COMMAND [ARGUMENT]...]",
    .details = "The writable layer is one of 10g on disk unless --disk says otherwise.\n"
               "A command runs in the background; 'hutch logs' shows what it says.\n"
               "\n"
               "Examples\n"
               "  hutch create --name work --workspace .\n"
               "  hutch exec work -- make test\n"
               "  hutch create --ttl 1h --idle-timeout 10m -- python3 -m http.server\n",
    .options = create_options,
    .option_count = CLI_COUNT(create_options),
    .fields = HUTCH_USE_CREATE,
    .run = cmd_create,
};
