/* SPDX-License-Identifier: Apache-2.0 */
/* How far a longer work on images is, on standard error. On a terminal: one line with a bar for
 * each part under way, drawn anew in its place, and finished parts above them for good. Elsewhere:
 * one line for each finished part, nothing that moves and no colour. */
#ifndef HUTCH_CLI_PROGRESS_H
#define HUTCH_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hutch/image.h"

struct cli_progress_part {
    char item[64];
    char action[16];
    uint64_t done;
    uint64_t total;
};

struct cli_progress {
    bool quiet;
    bool is_terminal;
    struct cli_progress_part *parts; /* under way */
    size_t count;
    size_t drawn;      /* lines of the terminal that are ours to draw anew */
    uint64_t drawn_ms; /* when */
};

/* Makes the options tell it. */
void cli_progress_begin(struct cli_progress *progress, struct hutch_image_options *options);
/* Takes what moves off the terminal. */
void cli_progress_end(struct cli_progress *progress);

#endif
