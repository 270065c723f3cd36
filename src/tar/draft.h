/* SPDX-License-Identifier: Apache-2.0 */
/* A file that is not there yet: it gets its name when it is whole. Where the filesystem cannot have
 * files without a name, it has another one first, which a kill leaves behind. */
#ifndef HUTCH_TAR_DRAFT_H
#define HUTCH_TAR_DRAFT_H

struct tar_draft {
    int fd;        /* the caller closes it */
    char name[32]; /* empty: it has none */
};

/* In the directory, for writing. Returns the descriptor, or -1 with errno. */
int tar_draft_open(struct tar_draft *draft, int dir);
/* Takes the name, from whatever else has it: a link cannot, a rename can. 0, or -1 with errno. */
int tar_draft_publish(struct tar_draft *draft, int dir, const char *name);
/* Of one that is not to be; errno stays. */
void tar_draft_drop(const struct tar_draft *draft, int dir);

#endif
