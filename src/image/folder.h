/* SPDX-License-Identifier: Apache-2.0 */
/* A directory as one digest. */
#ifndef HUTCH_IMAGE_FOLDER_H
#define HUTCH_IMAGE_FOLDER_H

#include "image/hash.h"

/* Of names, modes and contents of everything below, and of the words: another digest means that
 * something has changed. Owners and times do not count. A file that is neither a regular one, a
 * directory nor a symbolic link is refused. */
int folder_digest(const char *path, const char *const *words, char ret_digest[IMAGE_DIGEST_BYTES],
                  struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
