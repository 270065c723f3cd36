/* SPDX-License-Identifier: Apache-2.0 */
/* 'hutch snapshot' of a sandbox made from an image: the complete program does it, the small one
 * hands it over. */
#ifndef HUTCH_CLI_SNAPSHOT_IMAGE_H
#define HUTCH_CLI_SNAPSHOT_IMAGE_H

#include "hutch/error.h"

int cli_snapshot_image(const char *sandbox, const char *reference, struct hutch_error *err);

#endif
