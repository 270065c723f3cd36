/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_IMAGE_BASE64_H
#define HUTCH_IMAGE_BASE64_H

#include "util/error.h"

/* Of texts. What is no base64, or holds a NUL, is refused. */
int base64_encode(const char *text, char **ret_encoded, struct hutch_error *err) HUTCH_MUST_CHECK;
int base64_decode(const char *encoded, char **ret_text, struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
