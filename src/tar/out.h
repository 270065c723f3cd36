/* SPDX-License-Identifier: Apache-2.0 */
/* The stream's writing end, with one buffer for headers and content. */
#ifndef HUTCH_TAR_OUT_H
#define HUTCH_TAR_OUT_H

#include <stddef.h>
#include <stdint.h>

#include "tar/tar.h"

struct tar_out {
    int fd;
    tar_write *write; /* in its place, unless it is NULL */
    void *context;
    char *buffer;
    size_t used;
};

/* Everything returns 0, or -1 with errno. */
int tar_out_init(struct tar_out *out, int fd, tar_write *write, void *context);
int tar_out_write(struct tar_out *out, const void *data, size_t length);
int tar_out_zeros(struct tar_out *out, uint64_t length);
int tar_out_flush(struct tar_out *out);
/* At least one free byte to fill in; tar_out_take says how many were. NULL with errno. */
char *tar_out_room(struct tar_out *out, size_t *ret_length);
void tar_out_take(struct tar_out *out, size_t length);
void tar_out_done(struct tar_out *out);

/* Writes all of it to any descriptor. */
int tar_write_all(int fd, const char *data, size_t length);
/* Larger than a pipe is by itself, when it is one and the kernel allows it: every time a pipe runs
 * full or empty, two processes change places. */
void tar_pipe_enlarge(int fd);

#endif
