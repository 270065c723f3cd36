/* SPDX-License-Identifier: Apache-2.0 */
/* --sandbox NAME, for every verb that makes a sandbox. */
#ifndef HUTCH_CLI_NAMED_H
#define HUTCH_CLI_NAMED_H

#include "cli/options.h"
#include "hutch/image.h"
#include "hutch/spec.h"

struct cli_named {
    const char *name; /* NULL: none was asked for */
    struct cli_list directories;
    struct cli_list build_args;
    bool no_build; /* only learn which image it would be */
};

void cli_named_done(struct cli_named *named);

/* NOLINTBEGIN(bugprone-macro-parentheses): a type and a member take none */
/* Rows for a verb's table of options; member: the struct cli_named in the verb's own struct. */
#define CLI_NAMED_OPTIONS(type, member)                                                            \
    {.name = "sandbox",                                                                            \
     .kind = CLI_OPTION_TEXT,                                                                      \
     .offset = offsetof(type, member.name),                                                        \
     .metavar = "NAME",                                                                            \
     .group = "Root",                                                                              \
     .help =                                                                                       \
         "Start from a named sandbox: its image, built when it is missing or has changed, and "    \
         "the fields of its sandbox.yml; flags win over them."},                                   \
        {.name = "sandbox-dir",                                                                    \
         .kind = CLI_OPTION_LIST,                                                                  \
         .offset = offsetof(type, member.directories),                                             \
         .metavar = "DIR",                                                                         \
         .group = "Root",                                                                          \
         .repeats = true,                                                                          \
         .help = "Look for named sandboxes here first."},                                          \
    {                                                                                              \
        .name = "build-arg", .kind = CLI_OPTION_LIST, .offset = offsetof(type, member.build_args), \
        .metavar = "KEY=VALUE", .group = "Root", .repeats = true,                                  \
        .help = "An ARG of the named sandbox's Dockerfile."                                        \
    }

/* NOLINTEND(bugprone-macro-parentheses) */

/* Flags that say nothing without --sandbox, or against it, are refused. */
int cli_named_check(const struct cli_named *named, struct hutch_error *err);
/* Reads it into the spec. */
int cli_named_apply(const struct cli_named *named, struct hutch_spec *spec,
                    struct hutch_error *err);
/* Builds its image, for the backend that the whole spec names; the log goes to standard error. */
int cli_named_build(const struct cli_named *named, struct hutch_spec *spec,
                    struct hutch_error *err);

/* Shows the log of a build on standard error as it comes. */
void cli_show_build(void *userdata, const struct hutch_image_progress *progress);

#endif
