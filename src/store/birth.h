/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_STORE_BIRTH_H
#define HUTCH_STORE_BIRTH_H

#include <stdint.h>

/* When the inode was made, in nanoseconds of CLOCK_REALTIME; 0 where the filesystem does not say.
 */
uint64_t store_birth_ns(int dir, const char *name);

#endif
