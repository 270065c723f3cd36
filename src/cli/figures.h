/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities as people read them; UINT64_MAX, one that is not known, is "-". */
#ifndef HUTCH_CLI_FIGURES_H
#define HUTCH_CLI_FIGURES_H

#include <stdint.h>

enum { CLI_FIGURE_BYTES = 24 };

/* "5s", "12m", "3h", "9d": how long ago. */
void cli_age(uint64_t since_us, char text[CLI_FIGURE_BYTES]);
/* "0", "512b", "12.3m", "1g": in the units that --memory takes. */
void cli_size(uint64_t bytes, char text[CLI_FIGURE_BYTES]);
void cli_count(uint64_t count, char text[CLI_FIGURE_BYTES]);
/* "0.42s", "12.3s", "4m08s", "3h12m": processor time. */
void cli_time_spent(uint64_t time_us, char text[CLI_FIGURE_BYTES]);

#endif
