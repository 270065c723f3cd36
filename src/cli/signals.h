/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_CLI_SIGNALS_H
#define HUTCH_CLI_SIGNALS_H

#include "hutch/error.h"

/* Signals that arrive as readable descriptors, so that the run returns by the ordinary way and
 * everything is put back: the sandbox ended, the terminal restored. */
struct cli_signals {
    int cancel_fd; /* INT, TERM, HUP, QUIT */
    int resize_fd; /* WINCH */
};

#define CLI_SIGNALS_INIT \
    {                    \
        -1, -1           \
    }

int cli_signals_open(struct cli_signals *signals, struct hutch_error *err);
/* The ending signal that has arrived, 0 when none has. */
int cli_signals_read(const struct cli_signals *signals);
/* Forgets the changes of size that have arrived. */
void cli_signals_drain_resize(const struct cli_signals *signals);
void cli_signals_close(struct cli_signals *signals);

#endif
