/* SPDX-License-Identifier: Apache-2.0 */
/* What takes the network's libraries, or has to do with archives of any length, the hutch program
 * does: as a process of its own, which ends when its client is gone. */
#ifndef HUTCH_SERVER_IMAGES_RUN_H
#define HUTCH_SERVER_IMAGES_RUN_H

#include "hutch/error.h"

struct image_run {
    const char *const *words; /* "pull", "--", ...; NULL-terminated */
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
HUTCH_MUST_CHECK int image_run(const struct image_run *run, struct hutch_error *err);

#endif
