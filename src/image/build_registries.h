/* SPDX-License-Identifier: Apache-2.0 */
/* What hutch knows about registries, in the words of buildah: base images come from where hutch
 * itself would fetch them. */
#ifndef HUTCH_IMAGE_BUILD_REGISTRIES_H
#define HUTCH_IMAGE_BUILD_REGISTRIES_H

#include "util/error.h"

/* Writes a containers-registries.conf(5). */
int build_registries_write(int dir, const char *path, struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
