/* SPDX-License-Identifier: Apache-2.0 */
/* Which line of a Dockerfile a build is at, from what buildah (and podman) or docker announces:
 *
 *     STEP 2/4: RUN make                of the only stage
 *     [2/3] STEP 1/4: FROM scratch      of the second of three
 *     Step 5/9 : RUN make               of all stages together, with the ARGs before the first
 */
#ifndef HUTCH_IMAGE_BUILD_STEP_H
#define HUTCH_IMAGE_BUILD_STEP_H

#include <stdbool.h>

#include "util/error.h"

struct build_step {
    unsigned stage; /* from 1; 0: none was announced yet */
    unsigned number;
    bool counts_all; /* the number is that of an instruction of the whole file */
    char text[160];  /* "RUN make", cut off where it is longer */
};

/* Takes a line in when it announces a step. */
bool build_step_hear(struct build_step *step, const char *line);
/* The line of the Dockerfile's text on which the step begins; 0 when it is not found there. */
unsigned build_step_line(const struct build_step *step, const char *dockerfile);
/* Without the step, which is told already, that buildah repeats before its cause. */
const char *build_step_cause(const char *problem);
/* The build has failed at this step, if any was announced. path: the Dockerfile's; text: what it
 * says, NULL: nobody knows. */
int build_step_fail(const struct build_step *step, const char *path, const char *text,
                    const char *cause, struct hutch_error *err);

#endif
