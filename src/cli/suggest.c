/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/suggest.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { LONGEST_WORD = 32 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edits between two words, where swapping two neighbours is one edit (optimal string alignment):
 * "memroy" is one away from "memory". */
static size_t edits(const char *a, const char *b)
{
    size_t a_length = strlen(a);
    size_t b_length = strlen(b);
    size_t cells[LONGEST_WORD + 1][LONGEST_WORD + 1];
    if (a_length > LONGEST_WORD || b_length > LONGEST_WORD)
        return SIZE_MAX;
    for (size_t i = 0; i <= a_length; i++)
        cells[i][0] = i;
    for (size_t j = 0; j <= b_length; j++)
        cells[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        for (size_t j = 1; j <= b_length; j++) {
            bool differ = a[i - 1] != b[j - 1];
            size_t cost = least(cells[i - 1][j], cells[i][j - 1]) + 1;
            cost = least(cost, cells[i - 1][j - 1] + differ);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                cost = least(cost, cells[i - 2][j - 2] + 1);
            cells[i][j] = cost;
        }
    }
    return cells[a_length][b_length];
}

/* A beginning such as "mem" counts as one edit: flags cannot be shortened, and people try. */
static size_t distance(const char *word, const char *candidate)
{
    size_t length = strlen(word);
    if (length >= 2 && !strncmp(word, candidate, length))
        return 1;
    return edits(word, candidate);
}

void cli_suggestion_offer(struct cli_suggestion *suggestion, const char *candidate)
{
    size_t nearest = distance(suggestion->word, candidate);
    if (nearest > (strlen(suggestion->word) + 2) / 3)
        return;
    if (suggestion->best && nearest >= suggestion->best_distance)
        return;
    suggestion->best = candidate;
    suggestion->best_distance = nearest;
}
