/* SPDX-License-Identifier: Apache-2.0 */
/* The records of a pax header, read into fields; what we have no use for is passed over. */
#ifndef HUTCH_TAR_PAX_H
#define HUTCH_TAR_PAX_H

#include "tar/format.h"
#include "tar/regions.h"
#include "tar/text.h"

enum tar_pax_key {
    TAR_PAX_PATH,
    TAR_PAX_LINK,
    TAR_PAX_SIZE,
    TAR_PAX_UID,
    TAR_PAX_GID,
    TAR_PAX_MTIME,
    TAR_PAX_SPARSE_MAJOR,
    TAR_PAX_SPARSE_MINOR,
    TAR_PAX_SPARSE_NAME,
    TAR_PAX_REAL_SIZE,
    TAR_PAX_REGIONS,
};

struct tar_pax {
    bool wants_xattrs;
    struct tar_text xattrs; /* name, NUL, length (size_t), value, and the next */
    unsigned has;           /* bits by key */
    struct tar_text path;
    struct tar_text link;
    struct tar_text sparse_name;
    uint64_t size;
    uint64_t uid;
    uint64_t gid;
    uint64_t sparse_major;
    uint64_t sparse_minor;
    uint64_t real_size;
    struct timespec mtime;
    uint64_t region_offset; /* of sparse format 0.0, until its length has come */
    struct tar_regions regions;
};

static inline bool tar_pax_has(const struct tar_pax *pax, enum tar_pax_key key)
{
    return pax->has >> key & 1;
}

/* Returns 0, or -1 with errno: EBADMSG when the records are not well-formed. A global header has
 * nothing to say about sparse files. */
int tar_pax_read(struct tar_pax *pax, const struct tar_text *records, bool global);
/* As star, GNU tar, bsdtar and container engines have it. */
#define TAR_XATTR_PREFIX "SCHILY.xattr."
int tar_pax_add_xattr(struct tar_text *xattrs, const char *name, size_t name_length,
                      const char *value, size_t length);
/* The next of the extended attributes; at begins with 0. */
bool tar_pax_next_xattr(const struct tar_text *xattrs, size_t *at, const char **ret_name,
                        const char **ret_value, size_t *ret_length);
void tar_pax_clear(struct tar_pax *pax);
void tar_pax_done(struct tar_pax *pax);

#endif
