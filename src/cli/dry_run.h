/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_CLI_DRY_RUN_H
#define HUTCH_CLI_DRY_RUN_H

#include "hutch/spec.h"

/* Prints what the spec becomes, says on standard error what the policy made smaller, and returns
 * the exit status. json: a refusal is told on standard output as well. */
int cli_dry_run(struct hutch_spec *spec, enum hutch_use use, bool json);

#endif
