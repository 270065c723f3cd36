/* SPDX-License-Identifier: Apache-2.0 */
/* One name in a directory that somebody else writes to: opened by descriptor, never through a
 * symlink, never onto another mount. */
#ifndef HUTCH_STORE_BENEATH_H
#define HUTCH_STORE_BENEATH_H

#include <stdbool.h>
#include <sys/stat.h>

/* These return a descriptor or 0, or -1 with errno. name holds no slash. */
int store_open_directory(int dir, const char *name);
/* Opens a regular file for reading; anything else is left unopened and fails with ENOTSUP, so that
 * no FIFO blocks and no device is touched. */
int store_open_file(int dir, const char *name, struct stat *ret_info);
/* The directory that holds this one, whichever that is by now: the caller checks that it is the one
 * it knows. */
int store_open_parent(int dir);
int store_stat(int dir, const char *name, struct stat *ret_info);

/* Whether errno says that an entry is gone or became something else while it was looked at. */
bool store_is_gone(int os_errno);
bool store_is_same_inode(const struct stat *one, const struct stat *other);

#endif
