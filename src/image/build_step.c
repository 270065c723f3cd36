/* SPDX-License-Identifier: Apache-2.0 */
#include "image/build_step.h"

#include <stdio.h>
#include <string.h>

#include "image/dockerfile.h"

bool build_step_hear(struct build_step *step, const char *line)
{
    struct build_step heard = {.stage = 1};
    unsigned of = 0;
    int used = 0;
    heard.counts_all = sscanf(line, "Step %u/%u : %n", &heard.number, &of, &used) == 2 && used;
    if (!heard.counts_all) {
        if (sscanf(line, "[%u/%u] %n", &heard.stage, &of, &used) == 2)
            line += used;
        used = 0;
        if (sscanf(line, "STEP %u/%u: %n", &heard.number, &of, &used) != 2)
            return false;
    }
    if (!used || !heard.stage || !heard.number || heard.number > of)
        return false;
    (void)snprintf(heard.text, sizeof(heard.text), "%s", line + used);
    *step = heard;
    return true;
}

unsigned build_step_line(const struct build_step *step, const char *dockerfile)
{
    struct dockerfile_walk walk = {.next = dockerfile};
    unsigned stage = 0;
    unsigned number = 0;
    while (step->stage && dockerfile_next(&walk)) {
        if (dockerfile_is(walk.instruction, "FROM") && !step->counts_all) {
            stage++;
            number = 0;
        }
        if (!stage &&
            !step->counts_all) /* to buildah, an ARG that the first FROM uses is no step */
            continue;
        if ((step->counts_all || stage == step->stage) && ++number == step->number)
            /* what we read otherwise than the builder does is better not told at all */
            return dockerfile_is(walk.instruction, step->text) ? walk.line : 0;
    }
    return 0;
}

const char *build_step_cause(const char *problem)
{
    static const char before[] = "building at STEP \"";
    if (strncmp(problem, before, sizeof(before) - 1) != 0)
        return problem;
    const char *cause = strstr(problem + sizeof(before) - 1, "\": ");
    return cause ? cause + 3 : problem;
}

int build_step_fail(const struct build_step *step, const char *path, const char *text,
                    const char *cause, struct hutch_error *err)
{
    unsigned line = text ? build_step_line(step, text) : 0;
    if (!step->stage)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "%.160s: %.300s", path, cause);
    if (!line)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "%.160s: step %u, '%.100s': %.200s", path,
                          step->number, step->text, cause);
    return hutch_fail(err, HUTCH_E_INVALID, 0, "%.160s:%u: '%.100s': %.200s", path, line,
                      step->text, cause);
}
