/* SPDX-License-Identifier: Apache-2.0 */
/* What the unpacker does otherwise when its archive is a layer: see image/layer.h. The context of
 * its options is a struct layer_work. */
#ifndef HUTCH_IMAGE_LAYER_RULES_H
#define HUTCH_IMAGE_LAYER_RULES_H

#include "image/feed.h"
#include "tar/unpack.h"

struct layer_work {
    struct feed *feed;
    struct hutch_strlist implied;   /* directories that were made before they were mentioned */
    struct hutch_strlist mentioned; /* those that were there already when they were */
    size_t noted_bytes;             /* of both */
    struct tree_sum sum;            /* of what was made */
    bool is_miscounted;             /* tree_sum() would find something else */
};

extern const struct tar_rules layer_rules;

/* layer_xattr.c: the attributes that the entry has in the archive. Returns 0, or -1 with the
 * failure. */
int layer_set_xattrs(struct unpack *unpack, int fd);
/* Those of overlayfs mean something to us and to nobody else. */
bool layer_keeps_xattr(const char *name);

#define LAYER_WHITEOUT ".wh."
#define LAYER_META LAYER_WHITEOUT LAYER_WHITEOUT
#define LAYER_OPAQUE_FILE LAYER_META ".opq"
#define LAYER_OPAQUE_XATTR "user.overlay.opaque"

#endif
