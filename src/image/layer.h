/* SPDX-License-Identifier: Apache-2.0 */
/* From a layer as it travels to a directory that overlayfs can stack: decompressed, hashed and
 * unpacked as it comes, in one go and bounded memory.
 *
 * Files are made by the same code as in a copy (tar/unpack.c), with what is special to layers on
 * top: whiteouts become overlayfs's own (a character device 0:0, user.overlay.opaque), whatever
 * their order in the archive; attributes in SCHILY.xattr records are kept except overlayfs's own
 * and security.* other than security.capability (which is inert in a sandbox and left out); owners
 * of any size; devices are refused; set-user bits are kept, for the mounts are nosuid; hard links
 * lead to files of the same layer only. */
#ifndef HUTCH_IMAGE_LAYER_H
#define HUTCH_IMAGE_LAYER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "image/digest.h"
#include "image/tree_sum.h"
#include "util/error.h"
#include "util/strlist.h"

/* Where the bytes come from: as many as there are, at most `size`; 0 at the end, -1 with *err. May
 * wait. */
typedef ssize_t layer_source(void *context, void *buffer, size_t size, struct hutch_error *err);

struct layer_options {
    int dir;              /* an empty directory to unpack into */
    layer_source *source; /* gzip (one member or many), zstd or neither: the first bytes tell */
    void *context;
    uint64_t max_bytes;   /* of what is unpacked; 0: LAYER_DEFAULT_BYTES */
    uint64_t max_entries; /* 0: LAYER_DEFAULT_ENTRIES */
    bool keeps_owners;    /* false: an ordinary user without subordinate ids; all is the user's */
};

#define LAYER_DEFAULT_BYTES (UINT64_C(1) << 38)
#define LAYER_DEFAULT_ENTRIES UINT64_C(8000000)

struct layer_result {
    char diff_id[IMAGE_DIGEST_BYTES]; /* of the uncompressed archive, to its last byte */
    uint64_t bytes;                   /* uncompressed */
    /* Directories that the archive does not mention but whose content it has: they have a mode of
     * their own making, so what lies below decides (see image/implicit.h). Mostly none. */
    struct hutch_strlist implicit_dirs;
    struct tree_sum sum; /* of what was made, but for disk_bytes */
    bool is_miscounted;  /* some of that was replaced, or lies too deep to be counted */
};

int layer_unpack(const struct layer_options *options, struct layer_result *ret_result,
                 struct hutch_error *err) HUTCH_MUST_CHECK;
void layer_result_done(struct layer_result *result);
/* What tree_sum() would find in the unpacked layer; NULL: only a look can tell. */
const struct tree_sum *layer_known_sum(const struct layer_result *result);

/* The other way: what an overlay's upper directory holds, as a layer. Whiteouts and opaque
 * directories become .wh. files; `map` gives owners as the image has them. Writes gzip to out_fd;
 * diff id, compressed digest and sizes come back. The same tree gives the same bytes. */
typedef void layer_map_owner(void *context, uid_t *uid, gid_t *gid);
struct layer_pack_options {
    int dir;
    int out_fd;
    bool is_overlay; /* whiteouts and opaque directories mean what they mean to overlayfs */
    const struct hutch_strlist *without; /* paths beneath dir that are left out; NULL: none */
    layer_map_owner *map_owner;          /* NULL: as they are */
    void *context;
};
struct layer_packed {
    char diff_id[IMAGE_DIGEST_BYTES];
    char digest[IMAGE_DIGEST_BYTES];
    uint64_t size;
    uint64_t bytes;    /* uncompressed */
    uint64_t left_out; /* sockets, devices, and names that would be taken for whiteouts */
};
int layer_pack(const struct layer_pack_options *options, struct layer_packed *ret_packed,
               struct hutch_error *err) HUTCH_MUST_CHECK;
/* For files of this host: an ordinary user's are all that user's, who stands for the image's root.
 */
layer_map_owner *layer_owners_here(void);
/* The same tree as a plain archive, for others than stores. */
int layer_pack_plain(const struct layer_pack_options *options,
                     struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
