/* SPDX-License-Identifier: Apache-2.0 */
/* What comes out of a sandbox besides its output: a second one, and what it has changed. */
#ifndef HUTCH_NATIVE_DERIVE_H
#define HUTCH_NATIVE_DERIVE_H

#include "backend/native/identity.h"
#include "hutch/sandbox.h"
#include "util/strlist.h"

/* The second one has this spec, which gets its name, and the same files; with starts it runs,
 * without it is kept stopped. name NULL: one is made up. */
int derive_fork(struct hutch_sandbox *sandbox, struct hutch_spec *spec, const char *name,
                bool starts, struct hutch_sandbox **ret_sandbox, struct hutch_error *err);

/* Refuses a sandbox whose files an engine keeps. */
int derive_require_own_files(struct hutch_sandbox *sandbox, struct hutch_error *err);
/* Keeps its files as they are until the handle is freed: a sandbox that runs is paused, one at rest
 * is not started by others. */
int derive_hold(struct hutch_sandbox *sandbox, struct hutch_error *err);
/* What it has written over its image or root filesystem: the upper directory of an overlay. */
int derive_open_upper(struct hutch_sandbox *sandbox, struct hutch_error *err);

/* The files in there that hutch has made and nobody has changed since. */
int derive_made_files(const struct hutch_spec *spec, const struct image_use *image,
                      const struct identity *identity, int upper, struct hutch_strlist *paths,
                      struct hutch_error *err);

int derive_changes(struct hutch_sandbox *sandbox, hutch_change_seen_fn on_change, void *userdata,
                   struct hutch_error *err);
/* Of a workspace in mode overlay alone. */
int derive_patch(struct hutch_sandbox *sandbox, int fd, struct hutch_error *err);
int derive_apply(struct hutch_sandbox *sandbox, bool dry_run, hutch_conflict_fn on_conflict,
                 void *userdata, struct hutch_applied *ret_applied, struct hutch_error *err);

#endif
