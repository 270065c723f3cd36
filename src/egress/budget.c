/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/budget.h"

#define REFILL_US 10000
#define SMALLEST_BURST 4096
#define BURSTS_OF_A_SECOND 10

static uint64_t burst(const struct budget *budget)
{
    uint64_t bytes = budget->rate / BURSTS_OF_A_SECOND;
    return bytes > SMALLEST_BURST ? bytes : SMALLEST_BURST;
}

static void fill(struct budget *budget)
{
    uint64_t passed_us = budget->loop->now_us - budget->filled_us;
    if (passed_us > 1000000)
        passed_us = 1000000;
    uint64_t bytes = (uint64_t)((__uint128_t)budget->rate * passed_us / 1000000);
    if (!bytes)
        return; /* so that small rates add up too */
    budget->filled_us = budget->loop->now_us;
    budget->ready += bytes;
    if (budget->ready > burst(budget))
        budget->ready = burst(budget);
}

static void on_due(struct timer *timer)
{
    struct budget *budget = LOOP_OWNER(timer, struct budget, timer);
    struct budget_waiter *waiter = budget->waiters;
    fill(budget);
    if (budget->rate && !budget->ready) {
        loop_timer_set(budget->loop, timer, REFILL_US);
        return;
    }
    budget->waiters = NULL;
    while (waiter) {
        struct budget_waiter *next = waiter->next;
        waiter->is_waiting = false;
        loop_turn(budget->loop, waiter->turn);
        waiter = next;
    }
}

void budget_init(struct budget *budget, struct loop *loop, uint64_t spent)
{
    *budget = (struct budget){.loop = loop, .spent = spent, .timer.on_due = on_due};
    budget->filled_us = loop->now_us;
}

void budget_set(struct budget *budget, uint64_t max_bytes, uint64_t rate)
{
    budget->max_bytes = max_bytes;
    budget->rate = rate;
    budget->ready = 0;
    if (budget->waiters)
        loop_timer_set(budget->loop, &budget->timer, 0);
}

bool budget_is_over(const struct budget *budget)
{
    return budget->max_bytes && budget->spent >= budget->max_bytes;
}

size_t budget_ask(struct budget *budget, size_t bytes, struct budget_waiter *waiter)
{
    if (budget->max_bytes) {
        uint64_t left = budget_is_over(budget) ? 0 : budget->max_bytes - budget->spent;
        if (bytes > left)
            bytes = (size_t)left;
    }
    if (!budget->rate || !bytes)
        return bytes;
    fill(budget);
    if (bytes > budget->ready)
        bytes = (size_t)budget->ready;
    if (!bytes && !waiter->is_waiting) {
        /* At the end, so that everybody has a turn. */
        struct budget_waiter **place = &budget->waiters;
        while (*place)
            place = &(*place)->next;
        *place = waiter;
        waiter->next = NULL;
        waiter->is_waiting = true;
        if (!budget->timer.place)
            loop_timer_set(budget->loop, &budget->timer, REFILL_US);
    }
    return bytes;
}

void budget_spend(struct budget *budget, size_t bytes)
{
    budget->spent += bytes;
    budget->ready -= budget->ready < bytes ? budget->ready : bytes;
}

void budget_forget(struct budget *budget, struct budget_waiter *waiter)
{
    for (struct budget_waiter **place = &budget->waiters; waiter->is_waiting && *place;
         place = &(*place)->next) {
        if (*place != waiter)
            continue;
        *place = waiter->next;
        waiter->is_waiting = false;
        return;
    }
}
