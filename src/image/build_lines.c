/* SPDX-License-Identifier: Apache-2.0 */
#include "image/build_lines.h"

void build_lines_end(struct build_lines *lines)
{
    if (lines->length && lines->on_line) {
        lines->text[lines->length] = '\0';
        lines->on_line(lines->context, lines->text);
    }
    lines->length = 0;
}

/* A carriage return ends a line too: what a progress bar draws over itself are so many lines. */
void build_lines_take(struct build_lines *lines, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] == '\n' || bytes[i] == '\r') {
            build_lines_end(lines);
            continue;
        }
        if (lines->length == sizeof(lines->text) - 1)
            build_lines_end(lines);
        lines->text[lines->length++] = bytes[i];
    }
}
