/* SPDX-License-Identifier: Apache-2.0 */
/* The stream's reading end. */
#ifndef HUTCH_TAR_IN_H
#define HUTCH_TAR_IN_H

#include <stddef.h>
#include <stdint.h>

#include "tar/tar.h"

struct tar_in {
    int fd;
    tar_lend *lend; /* in its place, unless it is NULL */
    void *context;
    char *buffer;     /* what is read; NULL when it is lent */
    const char *data; /* the buffer, or what was lent last */
    size_t at;
    size_t end;
};

/* Either a descriptor or a function to read from. */
int tar_in_init(struct tar_in *in, int fd, tar_lend *lend, void *context);
void tar_in_done(struct tar_in *in);
/* The next block, valid until the next call. Returns 1, 0 when the stream ends before it, -1 with
 * errno. */
int tar_in_block(struct tar_in *in, const char **ret_block);
/* The next bytes, at least one and at most max: their number, 0 at the stream's end, -1 with
 * errno. */
long tar_in_some(struct tar_in *in, uint64_t max, const char **ret_data);
/* All of the next bytes, straight to where they belong. Returns 1, 0 when the stream ends before
 * the last of them, -1 with errno. */
int tar_in_fill(struct tar_in *in, char *to, size_t length);
/* Reads what a writer may still have to say after its end mark, so that it is not killed by a
 * broken pipe: at most one record of the largest size that tar programs write. */
void tar_in_drain(struct tar_in *in);

#endif
