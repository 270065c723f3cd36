/* SPDX-License-Identifier: Apache-2.0 */
/* The half of a copy that runs inside, as the half on the host sees it. */
#ifndef HUTCH_NATIVE_COPY_HALF_H
#define HUTCH_NATIVE_COPY_HALF_H

#include "backend/native/sandbox.h"
#include "tar/tar.h"

struct copy {
    struct hutch_sandbox *sandbox;
    hutch_skipped_fn on_skipped;
    void *userdata;
    int data;         /* our end */
    int report;       /* read end */
    uid_t inside_uid; /* the sandbox's user stands for the caller */
    gid_t inside_gid;
    char map[64]; /* the same for the half inside to do, of an archive that passes by unread */
};

#define COPY_INIT(box, fn, data_)                                                       \
    {                                                                                   \
        .sandbox = (box), .on_skipped = (fn), .userdata = (data_), .data = HUTCH_NO_FD, \
        .report = HUTCH_NO_FD                                                           \
    }

/* Does the half inside send, in this mode? */
bool copy_mode_sends(const char *mode);
/* Who the sandbox's user is, and the map that says so. */
int copy_learn_user(struct copy *copy, struct hutch_error *err);
void copy_write_map(struct copy *copy);
/* Starts it, with a pipe for the data. What has begun has to be finished, what has not given up. */
int copy_begin_piped(struct copy *copy, const char *mode, const char *path, const char *name,
                     struct hutch_error *err);
int copy_give_up(struct copy *copy, struct hutch_error *err);
/* True when there is something to read, false when nobody reads any more. */
bool copy_await(int from, int to);
/* Both halves are over; ours with 0, or with a failure. */
int copy_finish(struct copy *copy, int ours, const struct tar_failure *failure,
                struct hutch_error *err);

#endif
