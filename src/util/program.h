/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_UTIL_PROGRAM_H
#define HUTCH_UTIL_PROGRAM_H

/* The hutch program, for what the library has done by it: ourselves if we are hutch, the one that
 * HUTCH_PROGRAM names, or the installed one. */
const char *hutch_program_path(void);

#endif
