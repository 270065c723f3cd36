/* SPDX-License-Identifier: Apache-2.0 */
/* Which entries of a build's directory an archive gets; the packer's context is the struct
 * context_pack. */
#ifndef HUTCH_IMAGE_CONTEXT_RULES_H
#define HUTCH_IMAGE_CONTEXT_RULES_H

#include "tar/pack.h"

#define CONTEXT_IGNORE ".dockerignore"
#define CONTEXT_IGNORE_OF_PODMAN ".containerignore"

extern const struct tar_pack_rules context_rules;
/* What a step copies is root's, as with any other builder. */
void context_owner(void *context, uid_t *uid, gid_t *gid);

#endif
