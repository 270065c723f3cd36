/* SPDX-License-Identifier: Apache-2.0 */
/* What a sandbox has changed, as one patch. */
#ifndef HUTCH_STORE_TREEDIFF_H
#define HUTCH_STORE_TREEDIFF_H

#include <stddef.h>

#include "util/error.h"

/* A negative answer ends it and is what is returned. */
typedef int (*hutch_treediff_fn)(void *context, const char *text, size_t length,
                                 struct hutch_error *err);

/* Hands over the differences file by file, those of an overlay's upper directory against its lower
 * one. Directories, devices, FIFOs, sockets and owners have no form in a patch and are left out;
 * hutch_changes names them. git apply takes it all unless a binary file is in it, and patch -p1
 * unless a directory took a file's place or the reverse, which patch cannot do in one go. */
int hutch_treediff(int upper, int lower, hutch_treediff_fn write, void *context,
                   struct hutch_error *err);

#endif
