/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of hutch-copy share. */
#ifndef HUTCH_COPY_HALF_H
#define HUTCH_COPY_HALF_H

#include <stdbool.h>
#include <sys/types.h>

#include "copy/report.h"

struct owner {
    uid_t uid;
    gid_t gid;
};

struct copy {
    unsigned reports;
    bool keeps_owners;
    bool maps_owners;
    struct owner inside;
    struct owner outside;
};

/* 0, or -1 with the failure. name is the mode's own: see main.c. */
typedef int half(struct copy *copy, char *path, const char *name, struct tar_failure *failure);

/* With errno. */
int half_fail(enum tar_what what, const char *path, struct tar_failure *failure);
/* Owns what is made from now on, where the kernel has no number for us. */
void half_become(void *context, uid_t uid, gid_t gid);
/* Opens the directory that a path's last component is in, and cuts the path there. */
int half_open_parent(char *path, const char **ret_name, struct tar_failure *failure);

half half_stat, half_list, half_read; /* look.c */
half half_put, half_remove;           /* change.c */

#endif
