/* SPDX-License-Identifier: Apache-2.0 */
/* What a sandbox has changed: its overlay's upper directory, read beside the lower one.
 *
 * Both are read by descriptor and may change meanwhile. The upper one is hostile: no symlink in it
 * is followed, no FIFO or device opened, and depth, descriptors and memory are bounded. Times,
 * extended attributes and hard links are not compared, and neither are the two top directories
 * themselves: the upper one was made by the engine. */
#ifndef HUTCH_STORE_CHANGES_H
#define HUTCH_STORE_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/error.h"

enum hutch_change_kind {
    HUTCH_CHANGE_NONE, /* never reported */
    HUTCH_CHANGE_ADDED,
    HUTCH_CHANGE_MODIFIED, /* content, or where a link points */
    HUTCH_CHANGE_DELETED,
    HUTCH_CHANGE_TYPE,     /* a file became a directory, a directory a link... */
    HUTCH_CHANGE_METADATA, /* mode or owner only */
    HUTCH_CHANGE_KIND_COUNT,
};

struct hutch_change {
    enum hutch_change_kind kind;
    const char *path; /* relative; any bytes; borrowed for the call */
    mode_t old_mode;  /* type and permissions before; 0: it was not there */
    mode_t mode;      /* type and permissions now; 0: it is not there */
    uint64_t size;    /* of what is there now, in bytes */
};

/* "added", "modified", "deleted", "type", "metadata" */
const char *hutch_change_kind_name(enum hutch_change_kind kind);

/* A negative answer ends the walk and is what the walk returns. */
typedef int (*hutch_change_fn)(void *context, const struct hutch_change *change,
                               struct hutch_error *err);

struct hutch_changes_options {
    bool ignore_owner; /* for a lower directory that was shown under other owners */
};

/* A directory comes before what is in it, and names in a directory are sorted by their bytes. A
 * directory that was added or deleted is reported with everything in it, entry by entry. options
 * may be NULL. */
int hutch_changes(int upper, int lower, const struct hutch_changes_options *options,
                  hutch_change_fn report, void *context, struct hutch_error *err);

/* A layer without anything below: whatever is in it is added, except the paths of the skeleton (of
 * which what they hold is not part, unless it is listed too). */
int hutch_changes_in_layer(int layer, const char *const *skeleton, size_t skeleton_count,
                           hutch_change_fn report, void *context, struct hutch_error *err);

#endif
