/* SPDX-License-Identifier: Apache-2.0 */
/* --host and its like, which stand before the verb: whoever gives them wants the same of a daemon.
 * They go into the environment, where a program that is handed the call finds them. */
#ifndef HUTCH_CLI_HOST_FLAGS_H
#define HUTCH_CLI_HOST_FLAGS_H

#include <stdbool.h>

#include "hutch/error.h"

/* Takes them out of the words. */
int cli_host_flags(int *argc, char **argv, struct hutch_error *err);
/* Is a daemon to do it? Help is always this program's own. */
bool cli_host_is_remote(char *const *argv);

#endif
