/* SPDX-License-Identifier: Apache-2.0 */
/* What the packer's files share. Functions return 0, or -1 with the failure filled in. */
#ifndef HUTCH_TAR_PACK_H
#define HUTCH_TAR_PACK_H

#include "tar/dirs.h"
#include "tar/head.h"
#include "tar/links.h"
#include "tar/out.h"

struct pack {
    const struct tar_pack_options *options;
    struct tar_failure *failure;
    struct tar_out out;
    struct tar_dirs dirs; /* its path is the name in the archive */
    struct tar_links links;
    struct tar_text records;
    struct tar_text xattrs; /* of the next header */
    dev_t device;           /* of the top */
};

/* What an archive with rules has otherwise. Every slot is there. */
struct tar_pack_rules {
    /* In place of pack_list_next. */
    int (*next)(struct tar_level *level, const char **ret_name);
    /* Before an entry beneath the top is looked at. 1: nothing else is to be done. */
    int (*admit)(struct pack *pack, const char *name, const struct stat *info);
    /* The attributes of a file or directory. Returns 0, or -1 with errno. */
    int (*xattrs)(int fd, struct tar_text *xattrs);
    /* A directory is the innermost now, and its header is sent. */
    int (*entered)(struct pack *pack, int fd);
};

/* An empty file of nobody's and of no time in the innermost directory; the path is that again. */
int pack_mark(struct pack *pack, const char *prefix, const char *name);
/* pack.c: the header of the entry at the present path. */
int pack_head(struct pack *pack, struct tar_head *head, const struct stat *info);
int pack_fail(const struct pack *pack, enum tar_what what, int os_errno);

/* pack_file.c: header and content of an opened regular file. */
int pack_file(struct pack *pack, int fd, const struct stat *info);

/* pack_list.c: the next name of the innermost directory. Returns 1, 0 at its end, -1 with errno. */
int pack_list_next(struct tar_level *level, const char **ret_name);

#endif
