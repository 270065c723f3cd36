/* SPDX-License-Identifier: Apache-2.0 */
/* Idempotency-Key: who sends a POST again, because the answer was lost, gets the first answer and
 * nothing is done twice. Answers are files in the state directory, written before they are sent, so
 * that they outlive the daemon; each is good for 24 hours. */
#ifndef HUTCH_SERVER_IDEMPOTENCY_H
#define HUTCH_SERVER_IDEMPOTENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hutch/error.h"

struct api_call;
struct idempotency;
struct idempotent; /* one key, while it is being answered */

HUTCH_MUST_CHECK int idempotency_new(uint64_t most, struct idempotency **ret_idempotency,
                                     struct hutch_error *err);
void idempotency_free(struct idempotency *idempotency);

/* In a worker's thread, before the handler. False when the call is answered by this: with the first
 * answer, 409 while that is being made, 422 for another request under the same key. */
bool idempotency_begin(struct idempotency *idempotency, struct api_call *call);
/* After the handler: keeps the answer, if it is one to keep. */
void idempotency_end(struct idempotency *idempotency, struct api_call *call);

#endif
