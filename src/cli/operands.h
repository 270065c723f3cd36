/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs whose operands name sandboxes. */
#ifndef HUTCH_CLI_OPERANDS_H
#define HUTCH_CLI_OPERANDS_H

#include "cli/cli.h"
#include "hutch/sandbox.h"

/* Parses a verb's flags and wants at least least and at most most operands (0: any number), which
 * are argv[*ret_index] and on. */
struct cli_count {
    int least;
    int most;
};
int cli_operands(const struct cli_verb *verb, int argc, char **argv, void *target,
                 struct cli_count count, int *ret_index, bool *ret_help, struct hutch_error *err);

/* For every named sandbox, all of them even when one fails. Returns the exit status: that of the
 * first failure. */
int cli_each_sandbox(int argc, char **argv, int index,
                     int (*act)(void *userdata, struct hutch_sandbox *sandbox,
                                struct hutch_error *err),
                     void *userdata);

#endif
