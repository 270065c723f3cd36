/* SPDX-License-Identifier: Apache-2.0 */
/* Text that comes from inside a sandbox, made fit for a terminal: no control character, of the
 * first or the second set, no mark that turns the direction of writing, nothing that is not UTF-8.
 */
#ifndef HUTCH_CLI_PLAIN_H
#define HUTCH_CLI_PLAIN_H

#include <stddef.h>
#include <stdio.h>

/* Each such thing becomes '?'. Free it with free(); NULL when there is no memory. */
char *cli_plain(const char *text);
void cli_plain_write(FILE *file, const char *text);

/* Columns that a plain text takes on a terminal. */
size_t cli_plain_columns(const char *plain);
/* Bytes of its beginning that fit into so many columns. */
size_t cli_plain_fit(const char *plain, size_t columns);

#endif
