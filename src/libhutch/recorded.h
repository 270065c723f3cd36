/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_LIBHUTCH_RECORDED_H
#define HUTCH_LIBHUTCH_RECORDED_H

#include "backend/native/sandbox.h"

/* How a recorded command ended, as its keeper wrote it down. Release it with wire_done(). */
int recorded_result(const struct hutch_sandbox *sandbox, const char *id,
                    struct wire_message *ret_message, struct hutch_error *err);

#endif
