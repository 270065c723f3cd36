/* SPDX-License-Identifier: Apache-2.0 */
/* Two texts as lines, each line with a number that equal lines share, and what of them differs. */
#ifndef HUTCH_STORE_LINES_H
#define HUTCH_STORE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store_line {
    const char *text; /* with its newline, which only the last one may lack */
    size_t length;
};

/* A line costs five bytes here: a hostile file is nothing but newlines. */
struct store_lines {
    const char *text;
    uint32_t *starts; /* count + 1 of them: the last is where the text ends */
    size_t count;
    bool *changed; /* one per line: it has no counterpart on the other side */
};

static inline struct store_line store_line_at(const struct store_lines *lines, size_t index)
{
    return (struct store_line){lines->text + lines->starts[index],
                               lines->starts[index + 1] - lines->starts[index]};
}

/* Splits the two texts of less than 4 GiB, which must outlive the lines, and marks what differs.
 * Returns 0, or -1 when memory is out. */
int store_lines_compare(const void *old_text, size_t old_length, const void *new_text,
                        size_t new_length, struct store_lines ret_sides[2]);
void store_lines_done(struct store_lines sides[2]);

/* Marks in changed[0] and changed[1] a small set of items that separates the two sequences. It is
 * the smallest one unless that takes too long to find. Returns 0, or -1 when memory is out. */
int store_myers(const uint32_t *const ids[2], const size_t counts[2], bool *const changed[2]);

#endif
