/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept on this host to be quick: files that can be made again at any time. */
#ifndef HUTCH_DOCKER_STATE_H
#define HUTCH_DOCKER_STATE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/error.h"

#define STATE_BYTES 450

/* LIB/docker */
int docker_state(char ret_directory[STATE_BYTES], struct hutch_error *err) HUTCH_MUST_CHECK;
/* Whole under its name or not there at all, whoever else does the same. */
int docker_state_write(const char *path, mode_t mode, const void *data, size_t length,
                       struct hutch_error *err) HUTCH_MUST_CHECK;
/* What is older than a day: it is made again where it is wanted. And what porters that were killed
 * have fetched and not removed. */
void docker_state_sweep(void);
/* For names that tell contents apart. */
uint64_t docker_sum(const void *data, size_t length);

#endif
