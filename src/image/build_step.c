/* SPDX-License-Identifier: Apache-2.0 */
#include "image/build_step.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

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

/* A walk over the instructions of a Dockerfile. */
struct walk {
    const char *next;
    unsigned next_line;
    const char *instruction; /* its first word */
    unsigned line;
};

static bool take_line(struct walk *walk, const char **ret_text, size_t *ret_length)
{
    if (!*walk->next)
        return false;
    *ret_length = strcspn(walk->next, "\n");
    *ret_text = walk->next;
    walk->next += *ret_length + (walk->next[*ret_length] == '\n');
    walk->next_line++;
    while (*ret_length && strchr(" \t\r", (*ret_text)[*ret_length - 1]))
        (*ret_length)--;
    while (*ret_length && strchr(" \t", **ret_text)) {
        (*ret_text)++;
        (*ret_length)--;
    }
    return true;
}

/* Empty lines and comments are nothing, also between the lines of one instruction. */
static bool next_instruction(struct walk *walk)
{
    const char *text;
    size_t length;
    bool is_open = false;
    while (take_line(walk, &text, &length)) {
        if (!length || *text == '#')
            continue;
        if (!is_open) {
            walk->instruction = text;
            walk->line = walk->next_line;
        }
        is_open = text[length - 1] == '\\';
        if (!is_open)
            return true;
    }
    return is_open;
}

static bool begins_with_word_of(const char *instruction, const char *text)
{
    size_t length = strcspn(text, " \t");
    return length && !strncasecmp(instruction, text, length) &&
           strchr(" \t\r\n\\", instruction[length]);
}

unsigned build_step_line(const struct build_step *step, const char *dockerfile)
{
    struct walk walk = {.next = dockerfile};
    unsigned stage = 0;
    unsigned number = 0;
    while (step->stage && next_instruction(&walk)) {
        if (begins_with_word_of(walk.instruction, "FROM")) {
            stage++;
            number = 0;
        }
        if (!stage) /* an ARG that the first FROM uses is no step */
            continue;
        if (stage == step->stage && ++number == step->number)
            /* what we read otherwise than buildah does is better not told at all */
            return begins_with_word_of(walk.instruction, step->text) ? walk.line : 0;
    }
    return 0;
}
