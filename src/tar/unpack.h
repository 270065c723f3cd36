/* SPDX-License-Identifier: Apache-2.0 */
/* What the unpacker's files share. Functions return 0, or -1 with the failure filled in. */
#ifndef HUTCH_TAR_UNPACK_H
#define HUTCH_TAR_UNPACK_H

#include "tar/dirs.h"
#include "tar/read.h"

struct unpack {
    const struct tar_unpack_options *options;
    struct tar_failure *failure;
    struct tar_reader reader;
    struct tar_dirs dirs; /* level 0 is the target; the path is beneath it */
    struct tar_text top;  /* the archive's own name for its one tree */
    struct tar_text name; /* of the entry, beneath the target */
    struct tar_text link;
    uint64_t bytes_left;
    uint64_t entries_left;
};

int unpack_fail(const struct unpack *unpack, enum tar_what what, int os_errno);

/* unpack_dirs.c */
/* Goes to the directory that holds the entry, leaving others and making what is missing. Its
 * descriptor, the last component's beginning. */
int unpack_enter_parent(struct unpack *unpack, int *ret_dir, const char **ret_name);
/* The entry itself is a directory: makes it and goes there. */
int unpack_directory(struct unpack *unpack);
/* Leaves directories until there are only this many levels; each gets its attributes. */
int unpack_leave(struct unpack *unpack, size_t depth);
/* The owner, mode and time of the present entry, on a descriptor. Returns 0, or -1 with errno. */
int unpack_apply(const struct unpack *unpack, int fd, const struct tar_attributes *attributes);
/* Opens the directory that holds this cleaned name, by a walk of its own that makes nothing. */
int unpack_find_parent(const struct unpack *unpack, const char *path, int *ret_dir,
                       const char **ret_name);

/* unpack_make.c: everything that is not a directory. */
int unpack_make(struct unpack *unpack);
/* The content at the present place of out, holes as zeros where they cannot be left out. */
int unpack_content(struct unpack *unpack, int out, bool seekable);

#endif
