/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what a sandbox has changed into the real directory that was below its overlay.
 *
 * Every file is whole at any moment: it is written under a temporary name in its directory and
 * renamed over. What somebody else has changed since the sandbox was created is left alone and told
 * as a conflict. What is applied already is no change any more, so applying again after a failure,
 * a crash or a solved conflict does the rest. The sandbox should be paused or gone: a file that is
 * written to while it is copied is applied as it was read. */
#ifndef HUTCH_STORE_APPLY_H
#define HUTCH_STORE_APPLY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/error.h"

/* The temporary name. A sandbox's own file of this name is not applied. */
#define HUTCH_APPLY_TEMPORARY ".hutch-apply.tmp"

enum hutch_conflict_reason {
    HUTCH_CONFLICT_CHANGED,     /* was changed since the sandbox was created */
    HUTCH_CONFLICT_APPEARED,    /* was made since */
    HUTCH_CONFLICT_NOT_EMPTY,   /* a directory to be removed holds something that stays */
    HUTCH_CONFLICT_UNREACHABLE, /* its directory was replaced, or has something mounted on it */
    HUTCH_CONFLICT_SPECIAL,     /* a device, FIFO or socket: never applied */
    HUTCH_CONFLICT_RESERVED,    /* has the temporary name */
    HUTCH_CONFLICT_REASON_COUNT,
};

/* Half a sentence, such as "was changed since the sandbox was created". */
const char *hutch_conflict_reason_text(enum hutch_conflict_reason reason);

struct hutch_apply_options {
    /* When the sandbox was created, in nanoseconds of CLOCK_REALTIME. The kernel stamps files by
     * the coarse clock, so CLOCK_REALTIME_COARSE tells before and after exactly. */
    uint64_t since_ns;
    bool dry_run; /* only counts and tells conflicts */
    bool sync;    /* every file reaches the disk before its name does */
    /* Whose a file becomes that is theirs in the sandbox. Without it a file that is replaced keeps
     * its owner where the caller may give it, and a new one is the caller's. */
    void (*owner)(void *context, uid_t uid, gid_t gid, uid_t *ret_uid, gid_t *ret_gid);
    void (*conflict)(void *context, const char *path, enum hutch_conflict_reason reason);
    void *context; /* for both */
};

struct hutch_apply_counts {
    uint64_t added;
    uint64_t modified; /* changes of type as well */
    uint64_t deleted;
    uint64_t metadata;
    uint64_t conflicts;
};

/* Set-user-ID and set-group-ID bits are dropped. Conflicts are no failure. ret_counts is filled in
 * also on failure, with what was done until then; it may be NULL. */
int hutch_apply(int upper, int lower, const struct hutch_apply_options *options,
                struct hutch_apply_counts *ret_counts, struct hutch_error *err);

#endif
