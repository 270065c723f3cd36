/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_NATIVE_LOOP_H
#define HUTCH_NATIVE_LOOP_H

#include <stddef.h>

#include "util/error.h"

#define LOOP_PATH_SIZE 32

/* The file as a block device: the one it is attached to already, or a free one. Returns the
 * device's descriptor and its path. A device that was attached here lets go of the file when nobody
 * has it open or mounted any more. */
int loop_attach(int file, char *ret_path, size_t size, struct hutch_error *err);

#endif
