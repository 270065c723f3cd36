/* SPDX-License-Identifier: Apache-2.0 */
/* Where images are built: one directory of the store that one build at a time has to itself.
 *
 *     LIB/images/build/lock      held by the build, or by who prunes
 *     LIB/images/build/KIND/     buildah's own storage, by storage driver: its layers are the cache
 *     LIB/images/build/run/      its state, gone with the build
 *     LIB/images/build/tmp/      its temporary files, gone with the build
 *     LIB/images/build/out/      the finished image on its way into the store
 *     LIB/images/build/unclean   there while a build runs: found by the next one, the last one was
 *                                killed
 *
 * One at a time, because every build mounts layers in a mount namespace of its own while buildah
 * keeps its count of mounts in a file that all of them would share. */
#ifndef HUTCH_IMAGE_BUILD_PLACE_H
#define HUTCH_IMAGE_BUILD_PLACE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

struct build_place {
    char path[512];
    const char *driver; /* buildah's word for how layers are stacked there */
    int dir;
    int lock;
    bool was_killed; /* the build before this one left its working containers */
};

#define BUILD_PLACE_INIT              \
    {                                 \
        .dir = -EBADF, .lock = -EBADF \
    }

/* Makes it when missing, waits for its turn (on_wait hears of that once) and clears away what a
 * killed build has left. */
int build_place_enter(struct build_place *ret_place, void (*on_wait)(void *context), void *context,
                      struct hutch_error *err) HUTCH_MUST_CHECK;
/* The working containers of a killed build are gone. */
void build_place_is_clean(struct build_place *place);
void build_place_leave(struct build_place *place);

/* Removes the cache and whatever a killed build has left, unless a build is going on. *ret_bytes:
 * how much that is, 0 when there is nothing. */
int build_place_prune(bool dry_run, uint64_t *ret_bytes, struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
