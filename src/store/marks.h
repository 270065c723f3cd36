/* SPDX-License-Identifier: Apache-2.0 */
/* What overlayfs, mounted with userxattr, writes into its upper directory besides files. */
#ifndef HUTCH_STORE_MARKS_H
#define HUTCH_STORE_MARKS_H

#include <stdbool.h>
#include <sys/stat.h>

enum store_marks {
    STORE_MARK_NONE,
    STORE_MARK_OPAQUE,         /* nothing of the lower directory shows through */
    STORE_MARK_HAS_XWHITEOUTS, /* empty files with an attribute may be whiteouts */
};

enum store_marks store_marks_of(int directory);
/* A character device 0/0, or where the directory is marked for it an empty file with an attribute.
 */
bool store_is_whiteout(int dir, const char *name, const struct stat *info, enum store_marks marks);

#endif
