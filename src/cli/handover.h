/* SPDX-License-Identifier: Apache-2.0 */
/* The hutch command is a small program that starts fast, and beside it the complete one for what
 * needs libraries the small one goes without. The small one hands such calls over by exec. */
#ifndef HUTCH_CLI_HANDOVER_H
#define HUTCH_CLI_HANDOVER_H

#include <stdbool.h>

#include "hutch/error.h"

/* Was it started to be a porter? Then this is its exit status. */
bool cli_is_porter(int argc, char *const *argv, int *ret_status);
/* Was the complete program started to be a gateway? Then this is its exit status. */
bool cli_is_gateway(int argc, char *const *argv, int *ret_status);
/* Returns 0 when this program can do the call itself; does not return when it handed it over. */
int cli_handover(char **argv, struct hutch_error *err);
/* The daemon is a third program, for what no other needs. Both hand its verbs over by this, which
 * returns 0 for any other verb. */
int cli_handover_serve(char *const *argv, struct hutch_error *err);
/* What a daemon is to do, a fourth program asks it for. Returns 0 when nobody named one. */
int cli_handover_host(char *const *argv, struct hutch_error *err);
/* Becomes the program of this name, which came with this one. Returns 0 when it is not there. */
int cli_exec_beside(const char *program, char *const *argv, struct hutch_error *err);
/* The small program alone has this: for what shows only later. Returns when it failed. */
int cli_handover_now(char *const *argv, struct hutch_error *err);

#endif
