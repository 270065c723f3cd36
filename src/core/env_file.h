/* SPDX-License-Identifier: Apache-2.0 */
/* Files of environment variables: KEY=VALUE lines, '#' comments, blank lines, an optional "export
 * ". A value is taken literally (nothing is expanded), but one pair of quotes around the whole of
 * it is removed. */
#ifndef HUTCH_CORE_ENV_FILE_H
#define HUTCH_CORE_ENV_FILE_H

#include "core/map.h"

#define HUTCH_ENV_FILE_MAX_BYTES (1u << 20)

/* Adds the file's entries to the map, later ones winning. Errors name the line; the entries before
 * it have been added then. */
int hutch_env_file_parse(const char *text, size_t length, struct hutch_map *map,
                         struct hutch_error *err);

#endif
