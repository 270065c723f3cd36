/* SPDX-License-Identifier: Apache-2.0 */
/* The difference between two versions of a file in the form of git diff, which git apply and
 * patch -p1 take. */
#ifndef HUTCH_STORE_TEXTDIFF_H
#define HUTCH_STORE_TEXTDIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "util/buf.h"

/* One version. Only files and links have one: git knows neither directories nor devices, of modes
 * only whether the owner may execute, and a link is a file that holds where it points. */
struct hutch_textdiff_side {
    mode_t mode;      /* type and permissions; 0: the file is not there */
    const char *data; /* not read when unread is set */
    size_t length;    /* less than 4 GiB */
    bool unread;      /* the content is too large to be compared, and different */
};

#define HUTCH_TEXTDIFF_MAX_BYTES ((size_t)16 << 20) /* what callers should leave unread */

/* Appends the difference to out; nothing when git would see none. A file with a NUL in its first
 * 8000 bytes and one that is unread only "differ". Takes time near the size of both, whatever is in
 * them. */
int hutch_textdiff(const char *path, const struct hutch_textdiff_side *before,
                   const struct hutch_textdiff_side *after, struct hutch_buf *out,
                   struct hutch_error *err);

#endif
