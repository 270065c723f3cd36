/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_NATIVE_ENVIRONMENT_H
#define HUTCH_NATIVE_ENVIRONMENT_H

#include "backend/native/identity.h"
#include "core/spec.h"

/* What the spec asks for, from files, from the caller and by itself, in this order. */
int environment_asked(struct hutch_map *map, const struct hutch_spec *spec,
                      struct hutch_error *err);
/* The command's environment, built from nothing: a few constants, then the image's, env_files,
 * pass_env and env, later ones winning. */
int environment_build(struct hutch_strlist *environment, const struct hutch_spec *spec,
                      const struct image_use *image, const struct identity *identity, bool terminal,
                      struct hutch_error *err);
const char *environment_get(const struct hutch_strlist *environment, const char *name);

/* absolute.c: no path of the spec depends on the caller's directory any more. */
int hutch_spec_make_absolute(struct hutch_spec *spec, struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
