/* SPDX-License-Identifier: Apache-2.0 */
/* The root of a new sandbox on disk, made ready before PID 1 comes to it.
 *
 * In memory its names are made in no time, on disk each takes ten microseconds, half a millisecond
 * in all. Whoever asks for the sandbox has nothing to do while the keeper and PID 1 start, so it
 * makes them. PID 1 takes what is there as it is, and makes what is not. */
#ifndef HUTCH_NATIVE_FURNISH_H
#define HUTCH_NATIVE_FURNISH_H

#include "backend/native/home.h"
#include "core/spec.h"

/* Is the sandbox's root a directory of the pool, which is still to be made? */
bool furnish_is_wanted(const struct hutch_spec *spec, const struct home_record *record);
/* Makes the directory with all that the plan has in it. When that fails there is none. */
int furnish_layer(const struct hutch_spec *spec, const char *id,
                  struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
