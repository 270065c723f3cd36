/* SPDX-License-Identifier: Apache-2.0 */
/* Threads for what blocks. There are as many as are needed, made when no other is idle; one that
 * was idle for some seconds ends. */
#ifndef HUTCH_SERVER_WORKERS_H
#define HUTCH_SERVER_WORKERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hutch/error.h"

struct workers;

/* most: threads. */
HUTCH_MUST_CHECK int workers_new(uint64_t most, struct workers **ret_workers,
                                 struct hutch_error *err);
/* Any thread: has fn called in one of them. It waits in line when there are as many as may be. */
HUTCH_MUST_CHECK int workers_do(struct workers *workers, void (*fn)(void *argument), void *argument,
                                struct hutch_error *err);
uint64_t workers_count(struct workers *workers);
/* Waits up to so long for them to end what they do; false when some still do something. They are
 * left alone then, and so must be what they use. */
bool workers_end(struct workers *workers, uint64_t patience_ms);

#endif
