/* SPDX-License-Identifier: Apache-2.0 */
/* "sha256:" and 64 lower-case hexadecimal digits: the only digests there are here. */
#ifndef HUTCH_IMAGE_DIGEST_H
#define HUTCH_IMAGE_DIGEST_H

#include <stdbool.h>

#define IMAGE_DIGEST_BYTES 72 /* with its NUL */
#define IMAGE_DIGEST_HEX(digest) ((digest) + 7)

bool image_digest_is_valid(const char *text);

#endif
