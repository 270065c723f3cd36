/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_UTIL_PROGRAM_H
#define HUTCH_UTIL_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

/* The hutch program, for what the library has done by it: ourselves if we are hutch, the one that
 * HUTCH_PROGRAM names, or the installed one. Where the complete program runs, it is the small one
 * that belongs to it: a keeper lives long and needs no network library. */
const char *hutch_program_path(char buffer[PATH_MAX]) __attribute__((nonnull));
/* The same when we are hutch, as a name that other processes understand too. */
bool hutch_program_self(char ret_path[PATH_MAX]) __attribute__((nonnull));

#endif
