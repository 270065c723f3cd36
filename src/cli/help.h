/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_CLI_HELP_H
#define HUTCH_CLI_HELP_H

#include "cli/cli.h"

/* Each sends its text to standard output and returns the exit status. */
int cli_help_overview(void);
int cli_help_verb(const struct cli_verb *verb);
/* The verb's flags, or all verbs, in scdoc's syntax, for the man pages. */
int cli_help_scdoc(const struct cli_verb *verb);
int cli_help_overview_scdoc(void);

#endif
