/* SPDX-License-Identifier: Apache-2.0 */
/* What hutch knows about registries, in the words of buildah: base images come from where hutch
 * itself would fetch them. Names of people's short kind mean Docker Hub. */
#ifndef HUTCH_IMAGE_BUILD_REGISTRIES_H
#define HUTCH_IMAGE_BUILD_REGISTRIES_H

#include "util/error.h"

#define BUILD_REGISTRIES "registries.conf" /* a containers-registries.conf(5) */
#define BUILD_AUTHORITIES "authorities"    /* not there unless the configuration has some */

/* Writes both into a directory. */
int build_registries_write(int dir, struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
