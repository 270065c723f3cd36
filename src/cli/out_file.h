/* SPDX-License-Identifier: Apache-2.0 */
/* A file that a command writes: it has its name when it is whole, or not at all. */
#ifndef HUTCH_CLI_OUT_FILE_H
#define HUTCH_CLI_OUT_FILE_H

#include "hutch/error.h"

struct cli_out_file {
    const char *path; /* NULL: standard output */
    char *work;       /* where it grows; NULL: written in place, for it is no regular file */
    int fd;
};

/* Standard output is refused when it is a terminal. */
int cli_out_file_open(struct cli_out_file *file, const char *path, struct hutch_error *err);
int cli_out_file_commit(struct cli_out_file *file, struct hutch_error *err);
/* Without a commit: as if it had never been. */
void cli_out_file_done(struct cli_out_file *file);

#endif
