/* SPDX-License-Identifier: Apache-2.0 */
/* Which line of a Dockerfile buildah is at, from what it announces:
 *
 *     STEP 2/4: RUN make                of the only stage
 *     [2/3] STEP 1/4: FROM scratch      of the second of three
 */
#ifndef HUTCH_IMAGE_BUILD_STEP_H
#define HUTCH_IMAGE_BUILD_STEP_H

#include <stdbool.h>

struct build_step {
    unsigned stage; /* from 1; 0: none was announced yet */
    unsigned number;
    char text[160]; /* "RUN make", cut off where it is longer */
};

/* Takes a line in when it announces a step. */
bool build_step_hear(struct build_step *step, const char *line);
/* The line of the Dockerfile's text on which the step begins; 0 when it is not found there. */
unsigned build_step_line(const struct build_step *step, const char *dockerfile);

#endif
