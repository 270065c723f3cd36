/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's terminal in raw mode while a command inside has a terminal of its own, or with a
 * screen of hutch's own.
 *
 * Theory of operation. In raw mode every key, Ctrl-C and Ctrl-Z included, goes to the command. Two
 * things put the terminal back. The ordinary one is cli_terminal_restore(), on return and on every
 * signal that hutch takes by descriptor. The other is for ends that run no code of ours (SIGKILL,
 * abort, a crash): a guard process that does nothing but wait on a pipe. Its end-of-file means that
 * hutch is gone, and then the guard restores the terminal, unless a shell already did. */
#ifndef HUTCH_CLI_TERMINAL_H
#define HUTCH_CLI_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

#include "hutch/error.h"

struct cli_terminal {
    int fd;
    bool is_raw;
    struct termios saved;
    struct termios raw;
    pid_t guard;
    int guard_fd;         /* write end; closing it without a word makes the guard act */
    const char *farewell; /* what gives the screen back; NULL: it was not taken */
};

#define CLI_TERMINAL_INIT                     \
    {                                         \
        .fd = -1, .guard = -1, .guard_fd = -1 \
    }

/* May a command have a terminal here? Not together with --json, and not without one of ours. */
int cli_terminal_check(bool json, struct hutch_error *err);
int cli_terminal_make_raw(struct cli_terminal *terminal, int fd, struct hutch_error *err);
/* Takes the whole screen: keys come one by one and are not shown, Ctrl-C still is a signal. The
 * texts are the terminal's codes for coming and for going. */
int cli_terminal_take_screen(struct cli_terminal *terminal, int fd, const char *greeting,
                             const char *farewell, struct hutch_error *err);
/* What is typed is not shown, but for the end of its line. */
int cli_terminal_hide_input(struct cli_terminal *terminal, int fd, struct hutch_error *err);
/* Does nothing when the terminal was not changed. */
void cli_terminal_restore(struct cli_terminal *terminal);

#endif
