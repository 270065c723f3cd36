/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_CLI_SUGGEST_H
#define HUTCH_CLI_SUGGEST_H

#include <stddef.h>

/* Finds the candidate that a mistyped word was most likely meant to be. */
struct cli_suggestion {
    const char *word;
    const char *best; /* NULL while nothing was near enough */
    size_t best_distance;
};

void cli_suggestion_offer(struct cli_suggestion *suggestion, const char *candidate);

#endif
