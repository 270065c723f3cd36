/* SPDX-License-Identifier: Apache-2.0 */
/* Walks an overlay's upper directory beside its lower one and shows every name that the upper one
 * speaks of, in order. What the pair of entries amounts to is the visitor's business. */
#ifndef HUTCH_STORE_WALK_H
#define HUTCH_STORE_WALK_H

#include <stdbool.h>
#include <sys/stat.h>

#include "util/error.h"

/* One path on both sides. Valid during the call. */
struct store_pair {
    const char *path; /* relative, without "./" */
    const char *name; /* its last component */
    int upper_dir;    /* the directories that hold it; negative where there is none */
    int lower_dir;
    bool in_upper; /* a whiteout is nothing */
    bool in_lower;
    bool lost; /* the directory that holds it was there below and cannot be entered any more */
    struct stat upper;
    struct stat lower;
    int lower_self; /* in leave: the lower directory itself; negative where there is none */
};

#define STORE_WALK_SKIP 1 /* what enter returns to keep the walk out of a directory */

/* Both return a negative code to end the walk. */
struct store_visitor {
    /* Called for every pair, a directory's before those in it. A visitor that makes a directory in
     * the lower one says so in pair->in_lower and pair->lower, and the walk goes into it. */
    int (*enter)(void *context, struct store_pair *pair, struct hutch_error *err);
    /* Called for a directory after everything in it; may be NULL. */
    int (*leave)(void *context, const struct store_pair *pair, struct hutch_error *err);
    void *context;
};

/* The descriptors stay the caller's. lower may be negative: then nothing is below, and the upper
 * directory is a plain one, without an overlay's marks. */
int store_walk(int upper, int lower, const struct store_visitor *visitor, struct hutch_error *err);

#endif
