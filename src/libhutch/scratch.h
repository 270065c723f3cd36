/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_LIBHUTCH_SCRATCH_H
#define HUTCH_LIBHUTCH_SCRATCH_H

#include "hutch/error.h"

/* The caller may give no place for the cause of a failure. */
#define OR_SCRATCH(err)                            \
    struct hutch_error scratch = HUTCH_ERROR_INIT; \
    if (!(err))                                    \
    (err) = &scratch

#endif
