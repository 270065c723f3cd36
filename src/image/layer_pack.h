/* SPDX-License-Identifier: Apache-2.0 */
/* What the files share that make a layer. */
#ifndef HUTCH_IMAGE_LAYER_PACK_H
#define HUTCH_IMAGE_LAYER_PACK_H

#include "image/deflate.h"
#include "tar/pack.h"

/* The context of the packer's options. */
struct layer_pack_work {
    const struct layer_pack_options *options;
    struct deflate *deflate;
    uint64_t left_out;
};

extern const struct tar_pack_rules layer_pack_rules;

/* layer_names.c: the next name of the innermost directory, in the order of their bytes. Returns 1,
 * 0 at its end, -1 with errno. */
int layer_next_name(struct tar_level *level, const char **ret_name);
/* layer_xattr.c: what belongs into the archive, in the order of names. Returns 0, or -1 with errno.
 */
int layer_get_xattrs(int fd, struct tar_text *xattrs);

#endif
