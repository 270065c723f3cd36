/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_NATIVE_PROCESSORS_H
#define HUTCH_NATIVE_PROCESSORS_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

/* The processors that this thread may use. */
struct processors {
    cpu_set_t set;
    bool have_room; /* doing things at once is faster; where all are busy it is only dearer */
};

void processors_look(struct processors *ret_processors);
/* Lets another thread that has just begun go on elsewhere than here. */
void processors_move(const struct processors *processors, pid_t pid);

#endif
