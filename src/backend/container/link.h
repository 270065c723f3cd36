/* SPDX-License-Identifier: Apache-2.0 */
/* A keeper's side of its porter. The socket on which the porter is PID 1 is the keeper's own
 * (keeper->socket), as natively; what is said beside it is here. */
#ifndef HUTCH_CONTAINER_LINK_H
#define HUTCH_CONTAINER_LINK_H

#include "backend/native/keeper.h"
#include "image/use.h"
#include "porter/order.h"

struct container_link {
    int control;            /* questions; negative: not yet, or the porter is gone */
    bool is_ready;          /* there is a container */
    bool is_paused;         /* the engine has frozen it */
    bool is_ending;         /* the porter was told to end it */
    uint64_t told_us;       /* when */
    struct image_use image; /* as the engine has it, where it is the engine's */
    struct porter_end end;
    bool has_end;
    struct porter_answer seen; /* the last answer about what it uses */
    uint64_t seen_us;          /* when it came; 0: never */
};

/* question.c. Waits for the answer, but not for long. */
int link_ask(struct container_link *link, const struct porter_question *question,
             struct porter_answer *ret_answer, struct hutch_error *err) HUTCH_MUST_CHECK;

/* report.c: what the porter says. fds are the link's from now on. */
enum engine_word link_hear(struct keeper *keeper, const struct init_message *report, int *fds,
                           size_t fd_count, struct hutch_error *err);

#endif
