/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest patch program that can tell whether a difference is right: it takes only what fits
 * exactly, and counts every line. */
#ifndef HUTCH_TESTS_PATCH_H
#define HUTCH_TESTS_PATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/buf.h"

struct patch {
    const char *next; /* in the difference */
    const char *end;
    const char *old; /* what is left of the old text */
    const char *old_end;
    size_t old_line; /* lines of it that are done */
    size_t new_line;
    struct hutch_buf *out;
    size_t changed; /* lines with a - or a + */
};

/* The line at *text with its newline, which is moved over. */
static inline size_t patch_take_line(const char **text, const char *end)
{
    const char *newline = memchr(*text, '\n', (size_t)(end - *text));
    size_t length = newline ? (size_t)(newline + 1 - *text) : (size_t)(end - *text);
    *text += length;
    return length;
}

static inline bool patch_take_old(struct patch *patch, const char *line, size_t length)
{
    const char *old = patch->old;
    patch->old_line++;
    return patch_take_line(&patch->old, patch->old_end) == length && memcmp(old, line, length) == 0;
}

static inline bool patch_copy_until(struct patch *patch, size_t line)
{
    while (patch->old_line < line && patch->old < patch->old_end) {
        const char *old = patch->old;
        hutch_buf_append(patch->out, old, patch_take_line(&patch->old, patch->old_end));
        patch->old_line++;
        patch->new_line++;
    }
    return patch->old_line == line;
}

static inline size_t patch_take_number(struct patch *patch, size_t otherwise, char before)
{
    if (patch->next == patch->end || *patch->next != before)
        return otherwise;
    return (size_t)strtoull(patch->next + 1, (char **)(void *)&patch->next, 10);
}

static inline bool patch_line(struct patch *patch, size_t *olds, size_t *news)
{
    static const char marker[] = "\\ No newline at end of file\n";
    const char *line = patch->next + 1;
    size_t length = patch_take_line(&patch->next, patch->end) - 1;
    char mark = line[-1];
    size_t left = (size_t)(patch->end - patch->next);
    if (left >= sizeof(marker) - 1 && memcmp(patch->next, marker, sizeof(marker) - 1) == 0) {
        patch->next += sizeof(marker) - 1;
        length--;
    }
    if (mark != '+' && (!(*olds)-- || !patch_take_old(patch, line, length)))
        return false;
    if (mark != '-') {
        if (!(*news)--)
            return false;
        hutch_buf_append(patch->out, line, length);
        patch->new_line++;
    }
    patch->changed += mark != ' ';
    return mark == ' ' || mark == '-' || mark == '+';
}

static inline bool patch_hunk(struct patch *patch)
{
    patch->next += 3; /* "@@ " */
    size_t old_at = patch_take_number(patch, 0, '-'), olds = patch_take_number(patch, 1, ',');
    patch->next++;
    size_t new_at = patch_take_number(patch, 0, '+'), news = patch_take_number(patch, 1, ',');
    patch->next += 4; /* " @@\n" */
    if (!patch_copy_until(patch, olds ? old_at - 1 : old_at) ||
        patch->new_line != (news ? new_at - 1 : new_at))
        return false;
    while (olds || news)
        if (patch->next >= patch->end || !patch_line(patch, &olds, &news))
            return false;
    return true;
}

/* Applies the hunks of one file's difference to old and appends the result to out. Returns whether
 * they fit; ret_changed is how many lines they add and remove. */
static inline bool patch_apply(const char *diff, size_t diff_length, const char *old,
                               size_t old_length, struct hutch_buf *out, size_t *ret_changed)
{
    struct patch patch = {.next = diff,
                          .end = diff + diff_length,
                          .old = old,
                          .old_end = old + old_length,
                          .out = out};
    const char *hunks = diff_length ? strstr(diff, "\n@@ ") : NULL;
    patch.next = hunks ? hunks + 1 : patch.end;
    while (patch.next < patch.end)
        if (!patch_hunk(&patch))
            return false;
    hutch_buf_append(out, patch.old, (size_t)(patch.old_end - patch.old));
    *ret_changed = patch.changed;
    return true;
}

#endif
