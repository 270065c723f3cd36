/* SPDX-License-Identifier: Apache-2.0 */
/* What takes the network's libraries, has to do with archives of any length, or forks, the hutch
 * program does: as a process of its own, which ends when its client is gone. */
#ifndef HUTCH_SERVER_PROGRAM_H
#define HUTCH_SERVER_PROGRAM_H

#include "hutch/error.h"

struct program_run {
    const char *const *words; /* "image", "pull", "--", ...; NULL-terminated */
    int in_fd;                /* its standard input; negative: none */
    int out_fd;               /* its standard output; negative: lines like those of the other */
    int gone_fd;              /* readable when nobody wants it any more */
    /* A line that it said. Anything but 0 ends it. */
    int (*on_line)(void *userdata, const char *line);
    /* It has said nothing for a while. Anything but 0 ends it. */
    int (*on_quiet)(void *userdata);
    void *userdata;
};

/* Fails with what it said last when it fails. */
HUTCH_MUST_CHECK int program_run(const struct program_run *run, struct hutch_error *err);

#endif
