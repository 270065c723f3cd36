/* SPDX-License-Identifier: Apache-2.0 */
/* Reads an archive of any format as a row of entries. Functions return 0, or -1 with the failure
 * filled in, unless they say otherwise. */
#ifndef HUTCH_TAR_READ_H
#define HUTCH_TAR_READ_H

#include "tar/in.h"
#include "tar/pax.h"

struct tar_entry {
    enum tar_type type; /* never an extension header's */
    struct tar_text name;
    struct tar_text link;
    struct tar_attributes attributes;
    uint64_t file_size; /* of a file, holes included */
    bool sparse;
    struct tar_text xattrs;     /* see tar_pax */
    struct tar_regions regions; /* when sparse: where the content belongs, piece after piece */
};

struct tar_reader {
    struct tar_in in;
    struct tar_failure *failure;
    struct tar_entry entry;
    struct tar_pax global;
    struct tar_pax local;
    bool has_gnu_name;
    bool has_gnu_link;
    struct tar_text gnu_name;
    struct tar_text gnu_link;
    struct tar_text records;
    uint64_t left;    /* of the entry's content in the stream */
    uint64_t padding; /* after it */
    bool is_layer;    /* attributes count, and the end is where everybody sees it */
};

int tar_reader_init(struct tar_reader *reader, const struct tar_unpack_options *options, int fd,
                    struct tar_failure *failure);
void tar_reader_done(struct tar_reader *reader);
/* Goes to the next entry, past what is left of the present one. Returns 1, 0 at the end mark. */
int tar_reader_next(struct tar_reader *reader);
/* The next bytes of the entry's content: their number, 0 when there are no more. */
long tar_reader_content(struct tar_reader *reader, uint64_t max, const char **ret_data);
/* All of so many. */
int tar_reader_fill(struct tar_reader *reader, char *to, size_t length);
int tar_reader_fail(struct tar_reader *reader, enum tar_what what, int os_errno);

/* read_sparse.c: what a header says about holes, before the content is read. */
int tar_read_gnu_sparse(struct tar_reader *reader, const char *block);
int tar_read_pax_sparse(struct tar_reader *reader);

#endif
