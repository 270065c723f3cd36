/* SPDX-License-Identifier: Apache-2.0 */
#include "image/build_step.h"

#include <stdio.h>

#include "image/dockerfile.h"

bool build_step_hear(struct build_step *step, const char *line)
{
    unsigned stage = 1;
    unsigned number;
    unsigned of;
    int used = 0;
    if (sscanf(line, "[%u/%u] %n", &stage, &of, &used) == 2)
        line += used;
    used = 0;
    if (sscanf(line, "STEP %u/%u: %n", &number, &of, &used) != 2 || !used || !stage || !number ||
        number > of)
        return false;
    step->stage = stage;
    step->number = number;
    (void)snprintf(step->text, sizeof(step->text), "%s", line + used);
    return true;
}

unsigned build_step_line(const struct build_step *step, const char *dockerfile)
{
    struct dockerfile_walk walk = {.next = dockerfile};
    unsigned stage = 0;
    unsigned number = 0;
    while (step->stage && dockerfile_next(&walk)) {
        if (dockerfile_is(walk.instruction, "FROM")) {
            stage++;
            number = 0;
        }
        if (!stage) /* an ARG that the first FROM uses is no step */
            continue;
        if (stage == step->stage && ++number == step->number)
            /* what we read otherwise than buildah does is better not told at all */
            return dockerfile_is(walk.instruction, step->text) ? walk.line : 0;
    }
    return 0;
}
