/* SPDX-License-Identifier: Apache-2.0 */
/* Leases: what a sweep must know about a sandbox whose keeper was killed.
 *
 * One file holds a record per slot; the slot's number stands for a range of host ids that no other
 * sandbox has. A keeper holds a lock on its record as long as it lives, so a sweep knows the dead
 * by trying the lock. What has to be removed is written into the record before it is made; a record
 * that begins with NUL is blank. Taking and giving back a slot makes and removes no file: on a disk
 * that would cost as much as ten mounts. */
#ifndef HUTCH_NATIVE_STATE_H
#define HUTCH_NATIVE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/error.h"
#include "util/strlist.h"

/* Above the ids that distributions, subuid and other container managers hand out, below 2^31. */
#define STATE_FIRST_ID UINT32_C(0x70000000)
#define STATE_IDS_PER_SLOT UINT32_C(65536)
#define STATE_SLOTS 4000
#define STATE_RECORD_BYTES 4096

struct lease {
    int fd; /* negative: none is held */
    unsigned slot;
};

int lease_take(struct lease *lease, struct hutch_error *err);
/* Adds lines "kind path\n"; they are on record when this returns. */
int lease_record(struct lease *lease, const char *text, struct hutch_error *err);
void lease_release(struct lease *lease);

typedef int (*lease_fn)(void *userdata, const char *kind, const char *path);
/* Every line "kind path" on record, of the living and the dead. */
int lease_lines(struct hutch_strlist *lines, struct hutch_error *err);
/* Calls fn for every line of every lease whose keeper is gone. The lease is removed when fn said 0
 * for all of them. */
int lease_sweep(bool dry_run, lease_fn fn, void *userdata, struct hutch_error *err);

#endif
