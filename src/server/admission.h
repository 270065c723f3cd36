/* SPDX-License-Identifier: Apache-2.0 */
/* Who may make or run something now, who waits, and who is told to come again. Each line has a
 * number of places; who finds none waits behind the others of the same tenant, and tenants take
 * turns, so that one that asks a thousand times delays only itself. In the loop's thread alone. */
#ifndef HUTCH_SERVER_ADMISSION_H
#define HUTCH_SERVER_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>

#include "hutch/error.h"

struct api_call;
struct admission;

enum admission_line {
    ADMISSION_NONE, /* needs no turn */
    ADMISSION_CREATING,
    ADMISSION_RUNNING,
    ADMISSION_LINES,
};

struct admission_limits {
    uint64_t places[ADMISSION_LINES];
    uint64_t queue;                         /* of one tenant, in each line */
    void (*on_turn)(struct api_call *call); /* it is this one's turn */
};

struct admission_counts {
    uint64_t busy[ADMISSION_LINES];
    uint64_t queued;
    uint64_t turned_away;
};

HUTCH_MUST_CHECK int admission_new(const struct admission_limits *limits,
                                   struct admission **ret_admission, struct hutch_error *err);
void admission_free(struct admission *admission);
/* False when there is no room in the queue. Otherwise on_turn is called, now or later. */
bool admission_enter(struct admission *admission, enum admission_line which, struct api_call *call);
/* The turn is over: the next one's begins. */
void admission_leave(struct admission *admission, enum admission_line which);
void admission_count(const struct admission *admission, struct admission_counts *ret_counts);

#endif
