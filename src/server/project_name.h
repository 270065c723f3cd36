/* SPDX-License-Identifier: Apache-2.0 */
/* A name that people give a project, as a name that a sandbox may have. */
#ifndef HUTCH_SERVER_PROJECT_NAME_H
#define HUTCH_SERVER_PROJECT_NAME_H

#include <stdbool.h>
#include <stdint.h>

#define PROJECT_NAME_BYTES 64

/* "My Project" becomes "my-project". False when nothing is left of it. */
bool project_name(const char *given, char ret_name[PROJECT_NAME_BYTES]);
/* The same and something behind it, for when the name itself is taken. */
void project_name_with(const char *name, uint32_t number, char ret_name[PROJECT_NAME_BYTES]);

#endif
