/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_CLI_SPEC_FLAGS_H
#define HUTCH_CLI_SPEC_FLAGS_H

#include "cli/named.h"
#include "hutch/spec.h"

/* Where a spec comes from, before the flags. */
struct cli_spec_sources {
    struct cli_named named;
    const char *path;   /* of a document; NULL: none */
    const char *policy; /* of a policy that holds besides the host's own; NULL: none */
};

#define CLI_POLICY_OPTION(request, member)                                                         \
    {                                                                                              \
        .name = "policy", .kind = CLI_OPTION_TEXT, .offset = offsetof(request, member),            \
        .metavar = "FILE",                                                                         \
        .help = "Hold the request against this policy too, instead of the user's own; the host's " \
                "holds always."                                                                    \
    }

/* A spec from a named sandbox, a document, the fields among the flags and the command
 * (NULL-terminated, may be empty): each of them wins over those before. */
int cli_spec_build(const struct cli_options *options, int argc, char **argv,
                   const struct cli_spec_sources *sources, char **command,
                   struct hutch_spec **ret_spec, struct hutch_error *err);

#endif
