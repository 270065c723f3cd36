/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_LIBHUTCH_IMAGE_READY_H
#define HUTCH_LIBHUTCH_IMAGE_READY_H

#include "image/use.h"

/* The spec's image, open; fetched before where the spec says so. cancel_fd: when it becomes
 * readable, the fetching ends; negative: it cannot be ended. */
int image_ready(const struct hutch_spec *spec, int cancel_fd, struct image_use *ret_use,
                struct hutch_error *err) HUTCH_MUST_CHECK;

/* image_fetch.c: by the hutch program, which has the network's libraries. */
int image_fetch(const char *reference, int cancel_fd, struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
