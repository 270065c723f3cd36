/* SPDX-License-Identifier: Apache-2.0 */
/* The directories between the top and where the walk is, as descriptors. Only the innermost are
 * kept open: what lies further up is opened again by "..", and has to be the same directory still.
 * So any depth costs the same few descriptors. */
#ifndef HUTCH_TAR_DIRS_H
#define HUTCH_TAR_DIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "tar/format.h"
#include "tar/text.h"

/* O_NOFOLLOW of one component, and nothing of the caller's survives an exec. */
#define TAR_OPEN_DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

struct tar_level {
    int fd; /* -1: given up for now */
    dev_t dev;
    ino_t ino;
    size_t name_end; /* of this directory, in the path */
    /* packing */
    struct tar_list *list; /* names read and not yet used; goes with the descriptor */
    bool keeps_list;       /* unless it is all of them */
    off_t position;        /* where the list goes on, should it have to be read again */
    /* unpacking */
    bool has_attributes; /* to be given to it when the walk leaves */
    bool keeps_owner;    /* they are what it had before, numbers and all */
    bool is_ours;        /* made by this walk, and closed to others until it leaves */
    struct tar_attributes attributes;
};

struct tar_dirs {
    struct tar_level *levels;
    size_t depth;
    size_t capacity;
    struct tar_text path; /* of the innermost directory, and of its entry while that is looked at */
};

/* The innermost directory becomes the one behind fd, which is taken over also on failure. The path
 * is its name already. Returns 0, or -1 with errno. */
int tar_dirs_push(struct tar_dirs *dirs, int fd, const struct stat *info);
/* Opens the directory above the innermost again if it was given up. Returns 0, or -1 with errno,
 * which is ESTALE when the innermost has been moved elsewhere. */
int tar_dirs_wake_parent(struct tar_dirs *dirs);
void tar_dirs_pop(struct tar_dirs *dirs);
void tar_dirs_done(struct tar_dirs *dirs);
/* The path becomes that of an entry of the innermost directory. */
int tar_dirs_name(struct tar_dirs *dirs, const char *name, size_t length);

static inline struct tar_level *tar_dirs_inner(const struct tar_dirs *dirs)
{
    return &dirs->levels[dirs->depth - 1];
}

#endif
