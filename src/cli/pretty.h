/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_CLI_PRETTY_H
#define HUTCH_CLI_PRETTY_H

#include <stdio.h>

/* A JSON document on one line, as people read it: indented, and plain whatever its strings hold. */
void cli_json_pretty(FILE *file, const char *json);

#endif
