/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_CLI_PIECE_H
#define HUTCH_CLI_PIECE_H

#include "hutch/sandbox.h"

/* For hutch_sandbox_logs(): writes a piece to the stream it came from, and says what is lost.
 * userdata is an int that takes the errno of a failure. */
int cli_piece_write(void *userdata, const struct hutch_log_piece *piece);

#endif
