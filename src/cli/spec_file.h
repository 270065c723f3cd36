/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_CLI_SPEC_FILE_H
#define HUTCH_CLI_SPEC_FILE_H

#include "hutch/spec.h"

/* Reads a spec document. The name's ending says whether it is JSON or YAML; without a known one
 * (standard input "-", /dev/fd/63) a first character '{' means JSON. */
int cli_spec_read(struct hutch_spec *spec, const char *path, struct hutch_error *err);

/* Does the name's ending say that the document is JSON? */
bool cli_spec_is_named_json(const char *path);

#endif
