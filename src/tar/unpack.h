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
    uid_t uid; /* who owns what is made, see unpack_as */
    gid_t gid;
    bool has_become;   /* see tar_become: for good, there is no other number */
    bool has_replaced; /* a name that was there, so entries that were made are not all there are */
};

/* What an archive with rules does otherwise. Every slot is there. */
enum unpack_found { UNPACK_MADE, UNPACK_FOUND, UNPACK_REPLACED };
struct tar_rules {
    /* Before the entry is made, with its name in place. 1: nothing else is to be done. */
    int (*admit)(struct unpack *unpack);
    /* The entry is the target itself. */
    int (*top)(struct unpack *unpack);
    /* Goes into a directory of the innermost one that the entry's name leads through. */
    int (*step)(struct unpack *unpack, const char *name);
    /* Opens a directory that was closed by its mode. Returns it, or -1 with errno. */
    int (*open_closed)(int dir, const char *name);
    /* The entry is a directory, and the innermost now. */
    int (*directory)(struct unpack *unpack, enum unpack_found found);
    /* A new file, before its owner and mode are set. */
    int (*file)(struct unpack *unpack, int fd);
    /* What a hard link is to lead to. */
    int (*link_source)(struct unpack *unpack, int dir, const char *name);
    /* A directory stands in the way. Returns 0, or -1 with errno. */
    int (*remove_directory)(int dir, const char *name);
    /* After the last entry, in the target. */
    int (*end)(struct unpack *unpack);
};

int unpack_fail(const struct unpack *unpack, enum tar_what what, int os_errno);

/* unpack_dirs.c */
/* Goes to the directory that holds the entry, leaving others and making what is missing. Its
 * descriptor, the last component's beginning. */
int unpack_enter_parent(struct unpack *unpack, int *ret_dir, const char **ret_name);
/* The entry itself is a directory: makes it and goes there. */
int unpack_directory(struct unpack *unpack);
/* Takes fd over as the innermost directory, which has this name in the one that was. */
int unpack_push(struct unpack *unpack, int fd, const char *name);
/* Why the walk cannot go on to this name. */
int unpack_fail_step(const struct unpack *unpack, int dir, const char *name, int os_errno);
/* Leaves directories until there are only this many levels; each gets its attributes. */
int unpack_leave(struct unpack *unpack, size_t depth);
/* The owner, mode and time of the present entry, on a descriptor. Returns 0, or -1 with errno. */
int unpack_apply(const struct unpack *unpack, int fd, const struct tar_attributes *attributes);
/* What is made from now on is born with this owner, if it can be; unpack_apply sees to it anyway. A
 * change of owners is a transaction on the disk for each file. */
void unpack_as(struct unpack *unpack, uid_t uid, gid_t gid);
/* After a failure: true when it may go otherwise now. An idmapped mount need not have a number for
 * an entry's owner, nor for us (EOVERFLOW), but it has one for who owns the directory. */
bool unpack_become_owner(struct unpack *unpack, int dir);
/* The kernel takes the last number for "as it is". */
static inline bool unpack_is_owner(uid_t uid, gid_t gid)
{
    return uid != (uid_t)-1 && gid != (gid_t)-1;
}
/* Says that it failed. */
int unpack_fail_apply(const struct unpack *unpack, int os_errno);
/* Opens the directory that holds this cleaned name, by a walk of its own that makes nothing. */
int unpack_find_parent(const struct unpack *unpack, const char *path, int *ret_dir,
                       const char **ret_name);

/* unpack_make.c: everything that is not a directory. */
/* Takes away what has the name, also a directory if the rules allow it. 0, or -1 with errno. */
int unpack_clear(struct unpack *unpack, int dir, const char *name);
int unpack_make(struct unpack *unpack);
/* Makes it in the place of what was there before. Returns what make returns, -1 with errno. */
typedef int unpack_making(const struct unpack *unpack, int dir, const char *name);
int unpack_make_anew(unpack_making *make, struct unpack *unpack, int dir, const char *name);

/* unpack_direct.c: as much of the content as can be; *left is what remains to be written. */
int unpack_direct(struct unpack *unpack, int out, uint64_t *left);

/* unpack_file.c */
int unpack_file(struct unpack *unpack, int dir, const char *name);
/* The content at the present place of out, holes as zeros where they cannot be left out. */
int unpack_content(struct unpack *unpack, int out, bool seekable);

#endif
