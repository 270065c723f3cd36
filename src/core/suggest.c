/* SPDX-License-Identifier: Apache-2.0 */
#include "core/suggest.h"

#include <string.h>

/* Names are short; what is longer was not meant to be one. */
#define LONGEST 40

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours cost 1.
 * Both texts are at most LONGEST bytes long. */
static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][LONGEST + 1] = {{0}};
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t k = 0; k <= b_length; k++)
        row[k] = k;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *recycled = before;
        before = above;
        above = row;
        row = recycled;
        row[0] = i;
        for (size_t k = 1; k <= b_length; k++) {
            size_t cost = a[i - 1] != b[k - 1];
            row[k] = least(least(above[k] + 1, row[k - 1] + 1), above[k - 1] + cost);
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
                row[k] = least(row[k], before[k - 2] + 1);
        }
    }
    return row[b_length];
}

void hutch_suggestion_offer(struct hutch_suggestion *suggestion, const char *candidate,
                            const char *instead)
{
    size_t length = strlen(suggestion->written);
    size_t candidate_length = strlen(candidate);
    if (length > LONGEST || candidate_length > LONGEST)
        return;
    size_t distance = edit_distance(suggestion->written, length, candidate, candidate_length);
    size_t farthest = least(3, 1 + length / 4);
    if (distance > farthest || distance >= candidate_length)
        return;
    if (suggestion->nearest && distance >= suggestion->distance)
        return;
    suggestion->nearest = instead;
    suggestion->distance = distance;
}
