/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_CLI_SPEC_FLAGS_H
#define HUTCH_CLI_SPEC_FLAGS_H

#include "cli/options.h"
#include "hutch/spec.h"

/* A spec from a document (path, NULL: none), the fields among the flags, which win over it, and the
 * command (NULL-terminated, may be empty). */
int cli_spec_build(const struct cli_options *options, int argc, char **argv, const char *path,
                   char **command, struct hutch_spec **ret_spec, struct hutch_error *err);

#endif
