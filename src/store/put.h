/* SPDX-License-Identifier: Apache-2.0 */
/* Puts one entry of the upper directory into the lower one, under a temporary name first. */
#ifndef HUTCH_STORE_PUT_H
#define HUTCH_STORE_PUT_H

#include <stdbool.h>
#include <sys/stat.h>

struct store_put {
    int upper_dir;
    int lower_dir;
    const char *name;
    mode_t mode; /* type and the permissions to be set */
    uid_t uid;   /* (uid_t)-1: as it comes */
    gid_t gid;
    bool may_keep_owner;         /* the owner need not be set where that is not allowed */
    bool sync;                   /* bring the content to the disk before the name */
    const struct stat *replaced; /* what it is put over; NULL: nothing may be there */
};

/* All return 0, or -1 with errno. EEXIST: something is there that was not; EBUSY: what is there is
 * not what was looked at. */
int store_put(const struct store_put *put);
/* Removes an entry that is not a directory. */
int store_remove(int dir, const char *name, const struct stat *known);
/* Gives an entry its owner and permissions where it is. */
int store_put_metadata(const struct store_put *put);
/* Removes what an interrupted put has left. */
void store_put_clean(int dir);

#endif
