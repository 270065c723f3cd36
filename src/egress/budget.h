/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that may still pass: in all, and now. */
#ifndef HUTCH_EGRESS_BUDGET_H
#define HUTCH_EGRESS_BUDGET_H

#include "egress/loop.h"

struct budget_waiter {
    struct budget_waiter *next;
    bool is_waiting;
    struct turn *turn;
};

struct budget {
    struct loop *loop;
    uint64_t max_bytes; /* 0: no limit */
    uint64_t spent;
    uint64_t rate;  /* 0: no limit */
    uint64_t ready; /* of the rate, saved up */
    uint64_t filled_us;
    struct timer timer;
    struct budget_waiter *waiters;
};

void budget_init(struct budget *budget, struct loop *loop, uint64_t spent);
void budget_set(struct budget *budget, uint64_t max_bytes, uint64_t rate);
bool budget_is_over(const struct budget *budget);
/* How many of these may be read now; 0: the waiter gets a turn when there are some again, or there
 * are never any (budget_is_over). */
size_t budget_ask(struct budget *budget, size_t bytes, struct budget_waiter *waiter);
void budget_spend(struct budget *budget, size_t bytes);
void budget_forget(struct budget *budget, struct budget_waiter *waiter);

#endif
