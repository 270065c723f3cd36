/* SPDX-License-Identifier: Apache-2.0 */
/* Writes an entry's header: ustar, and before it a pax header with what does not fit there. */
#ifndef HUTCH_TAR_HEAD_H
#define HUTCH_TAR_HEAD_H

#include "tar/format.h"
#include "tar/out.h"
#include "tar/text.h"

struct tar_head {
    enum tar_type type;
    const char *name;
    const char *link; /* NULL: none */
    struct tar_attributes attributes;
    uint64_t size; /* of what follows in the stream */
    bool sparse;
    uint64_t real_size;            /* of a sparse file, with its holes */
    const struct tar_text *xattrs; /* NULL: none; else as in tar/pax.h */
};

/* scratch is for the pax records. Returns 0, or -1 with errno. */
int tar_head_write(struct tar_out *out, const struct tar_head *head, struct tar_text *scratch);

#endif
