/* SPDX-License-Identifier: Apache-2.0 */
#include "image/dockerfile.h"

#include <string.h>
#include <strings.h>

static bool take_line(struct dockerfile_walk *walk, const char **ret_text, size_t *ret_length)
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

static void join(struct dockerfile_walk *walk, const char *text, size_t length)
{
    size_t used = strlen(walk->text), room = sizeof(walk->text) - 1 - used;
    length = length < room ? length : room;
    memcpy(walk->text + used, text, length);
    walk->text[used + length] = '\0';
}

/* Empty lines and comments are nothing, also between the lines of one instruction. */
bool dockerfile_next(struct dockerfile_walk *walk)
{
    const char *text;
    size_t length;
    bool is_open = false;
    walk->text[0] = '\0';
    while (take_line(walk, &text, &length)) {
        if (!length || *text == '#')
            continue;
        if (!is_open) {
            walk->instruction = text;
            walk->line = walk->next_line;
        }
        is_open = text[length - 1] == '\\';
        join(walk, text, length - is_open);
        if (!is_open)
            return true;
        join(walk, " ", 1);
    }
    return is_open;
}

bool dockerfile_is(const char *instruction, const char *text)
{
    size_t length = strcspn(text, " \t");
    return length && !strncasecmp(instruction, text, length) &&
           strchr(" \t\r\n\\", instruction[length]);
}
