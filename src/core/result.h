/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_CORE_RESULT_H
#define HUTCH_CORE_RESULT_H

#include "core/promise.h"
#include "hutch/result.h"

/* The public result with what it owns behind it. The public struct comes first: one pointer serves
 * both. */
struct hutch_result_owned {
    struct hutch_result result;
    char *data[3]; /* behind out, err and both */
    const char *missing[HUTCH_PROMISE_COUNT + 1];
    struct hutch_egress *egress;
};

struct hutch_result_owned *hutch_result_new(void);
void hutch_result_set_missing(struct hutch_result_owned *owned, hutch_promise_set missing);

#endif
