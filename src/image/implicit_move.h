/* SPDX-License-Identifier: Apache-2.0 */
/* Moving a directory's content within one unpacked layer. Paths are beneath the layer's directory,
 * have no slash at their ends, and no component that is a link is followed. */
#ifndef HUTCH_IMAGE_IMPLICIT_MOVE_H
#define HUTCH_IMAGE_IMPLICIT_MOVE_H

#include "image/name_set.h"

/* The directory's descriptor, or -1 with errno. */
int implicit_open(int dir, const char *path);
/* Is every component of the path a directory of the layer, or not there at all? */
bool implicit_can_hold(int dir, const char *path);
/* Makes the directory in one that is there. Returns 1, 0 when it is there already, -1 with errno.
 */
int implicit_make(int dir, const char *path);
/* Moves all of `from` into `to`, where names that are taken stay as they are unless both are
 * directories, and removes `from`. Directories that were there already are added to `merged`. */
int implicit_move(int dir, const char *from, const char *to, struct name_set *merged,
                  struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
