/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_NATIVE_MERGED_H
#define HUTCH_NATIVE_MERGED_H

#include "image/use.h"

/* The root directory of an image as all its layers together show it, to look at; a descriptor. */
int merged_open(const struct image_use *image, struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
