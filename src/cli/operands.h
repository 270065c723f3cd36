/* SPDX-License-Identifier: Apache-2.0 */
/* How a verb begins: with its flags, and the words that it is about. */
#ifndef HUTCH_CLI_OPERANDS_H
#define HUTCH_CLI_OPERANDS_H

#include "cli/cli.h"
#include "hutch/sandbox.h"

struct cli_count {
    int least;
    int most; /* CLI_ANY: however many */
};
#define CLI_ANY (-1)

/* Parses a verb's flags and wants so many operands, which are argv[*ret_index] and on. */
int cli_operands(const struct cli_verb *verb, int argc, char **argv, void *target,
                 struct cli_count count, int *ret_index, bool *ret_help, struct hutch_error *err);
/* The same, with what there is to say about it: false when nothing is left to do, because it has
 * failed or was a call for help, and then *ret_status is the exit status. */
bool cli_begin(const struct cli_verb *verb, int argc, char **argv, void *target,
               struct cli_count count, int *ret_index, int *ret_status);
/* Of a verb that has no operands. */
bool cli_begin_alone(const struct cli_verb *verb, int argc, char **argv, void *target,
                     int *ret_status);

/* For every named sandbox, all of them even when one fails. Returns the exit status: that of the
 * first failure. */
int cli_each_sandbox(int argc, char **argv, int index,
                     int (*act)(void *userdata, struct hutch_sandbox *sandbox,
                                struct hutch_error *err),
                     void *userdata);

#endif
