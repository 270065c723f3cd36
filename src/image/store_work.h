/* SPDX-License-Identifier: Apache-2.0 */
/* Making something in the store without anybody seeing half of it.
 *
 * A crash of the program needs a rename only. A loss of power needs more: a filesystem may keep the
 * rename and lose what was written before it. So whatever is trusted by its name alone (blobs,
 * records, names) is on the disk before it gets that name, and its directory after it. The files of
 * an unpacked layer are not synced one by one: there are thousands, each would cost a wait for the
 * disk, and together more than fetching them; settle.h has what stands in for it. */
#ifndef HUTCH_IMAGE_STORE_WORK_H
#define HUTCH_IMAGE_STORE_WORK_H

#include <stddef.h>

#include "image/store.h"

#define STORE_WORK_BYTES 48 /* "tmp/" and an id, with the NUL */

/* The bytes of LIB/images/lock. */
#define STORE_LOCK_CONTENT 0 /* shared: adding; exclusive: taking names away */
#define STORE_LOCK_PRUNE 1   /* exclusive: one prune at a time */
int store_open_lock(const struct image_store *store, struct hutch_error *err) HUTCH_MUST_CHECK;

/* A path below tmp/ that nobody else has. Makes nothing. */
int store_work_path(char ret_path[STORE_WORK_BYTES], struct hutch_error *err) HUTCH_MUST_CHECK;

/* Writes a small file and names it when it is on the disk. Without replaces, one that is there
 * stays and this fails with -HUTCH_E_CONFLICT. */
int store_put_file(const struct image_store *store, const char *path, const char *text,
                   size_t length, bool replaces, struct hutch_error *err) HUTCH_MUST_CHECK;

/* The directory that holds this path: what was renamed in it stays renamed. Returns 0, or -1 with
 * errno. */
int store_sync_parent(int dir, const char *path);

#endif
