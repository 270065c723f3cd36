/* SPDX-License-Identifier: Apache-2.0 */
/* Questions that change nothing, to many keepers at the same time and with a deadline: a keeper
 * that is stopped or stuck must keep nobody from learning about the others. */
#ifndef HUTCH_NATIVE_QUESTION_H
#define HUTCH_NATIVE_QUESTION_H

#include "backend/native/sandbox.h"

#define QUESTION_TIMEOUT_MS 2000

struct question {
    struct hutch_sandbox *sandbox;
    bool is_sent;
    bool is_settled;
    uint64_t deadline_us;
    int status;                 /* 0, or negative and err says why */
    struct wire_message answer; /* of status 0; the asker's to release */
    struct hutch_error err;
};

/* Asks all of them the same; every question has its status when this returns. */
void questions_ask(struct question *questions, size_t count, const struct wire_message *request,
                   uint64_t timeout_ms);
/* One keeper, with the usual deadline. */
int question_ask(struct hutch_sandbox *sandbox, const struct wire_message *request,
                 struct wire_message *ret_answer, struct hutch_error *err);

#endif
