/* SPDX-License-Identifier: Apache-2.0 */
/* Which inodes with several names are in the stream already, and under which name. */
#ifndef HUTCH_TAR_LINKS_H
#define HUTCH_TAR_LINKS_H

#include <stdint.h>
#include <sys/stat.h>

#include "tar/text.h"

struct tar_link {
    dev_t dev;
    ino_t ino;
    size_t name; /* where in the names it begins, plus one; 0: this slot is free */
};

struct tar_links {
    struct tar_link *slots;
    size_t capacity; /* a power of two */
    size_t used;
    struct tar_text names; /* each ended by NUL */
};

/* The name that the inode has in the stream, or NULL; then it is noted under this one. There is a
 * ceiling on what is noted: beyond it an inode with two names becomes two files, which costs room
 * but loses nothing. */
const char *tar_links_find_or_add(struct tar_links *links, const struct stat *info,
                                  const struct tar_text *name);
void tar_links_done(struct tar_links *links);

#endif
