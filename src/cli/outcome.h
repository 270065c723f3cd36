/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_CLI_OUTCOME_H
#define HUTCH_CLI_OUTCOME_H

#include "hutch/result.h"

/* One line on standard error about an end that the exit status alone does not explain; nothing
 * otherwise. */
void cli_outcome_say(const struct hutch_result *result);

#endif
