/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_STORE_LOG_RECOVER_H
#define HUTCH_STORE_LOG_RECOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

/* How the writer before left the newest segment. */
struct log_remains {
    uint64_t offset; /* where to go on */
    bool torn;       /* something follows the last whole frame: go on in a new segment */
};

int log_recover(int dir, uint64_t start, struct log_remains *ret_remains, struct hutch_error *err);

#endif
