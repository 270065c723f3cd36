/* SPDX-License-Identifier: Apache-2.0 */
/* PID 1's reports on their way. That a command has ended is told after all that it has written; so
 * its reports may have to wait a moment, in their order, while those of others go on. */
#ifndef HUTCH_PORTER_REPORT_H
#define HUTCH_PORTER_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "init/protocol.h"

struct report {
    struct report *next;
    struct init_message message;
    int fd;            /* that goes with it; negative: none */
    uint64_t until_us; /* it waits no longer; 0: it waits for nothing but its turn */
};

#define REPORTS_MAX 8192 /* several for each command there can be */

struct reports {
    struct report *first;
    size_t count;
};

uint64_t report_clock_us(void);
/* Takes the descriptor over, also when it fails. Returns -1 when there is no memory, or when there
 * are more than anybody has a reason to send. */
int reports_add(struct reports *reports, const struct init_message *message, int fd,
                uint64_t until_us);
/* The first that need not wait any longer, to be released by report_free(). */
struct report *reports_take(struct reports *reports,
                            bool (*is_busy)(const void *context, uint32_t session),
                            const void *context);
/* Again the first. */
void reports_put_back(struct reports *reports, struct report *report);
/* When the next one waits no longer; UINT64_MAX when there is none. */
uint64_t reports_next_us(const struct reports *reports);
void report_free(struct report *report);
void reports_done(struct reports *reports);

#endif
