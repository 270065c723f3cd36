/* SPDX-License-Identifier: Apache-2.0 */
/* An archive of images as a set of named files: a tar archive, or the directory of an OCI layout.
 *
 * The archive is a stranger's. Its names are looked up in a list of what it holds itself and lead
 * nowhere else; its sizes are believed as far as the bytes are there; and what its files say is
 * used by nobody before its digest was checked. */
#ifndef HUTCH_IMAGE_ARCHIVE_H
#define HUTCH_IMAGE_ARCHIVE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "image/store.h"

struct archive;

/* path: a directory, a tar archive (gzip and zstd too), "-" for standard input. What cannot be read
 * at any place, as a pipe or something compressed, is first written to a file of the store that
 * has no name, so the kernel removes it however the work ends. */
int archive_open(const struct image_store *store, const char *path, struct archive **ret_archive,
                 struct hutch_error *err) HUTCH_MUST_CHECK;
void archive_free(struct archive *archive);

/* One file of it, to be read from its beginning. */
struct archive_file {
    int fd;
    bool owns_fd;
    uint64_t at;
    uint64_t left;
};
#define ARCHIVE_FILE_INIT              \
    {                                  \
        .fd = -EBADF, .owns_fd = false \
    }

bool archive_has(const struct archive *archive, const char *name);
int archive_find(const struct archive *archive, const char *name, struct archive_file *ret_file,
                 struct hutch_error *err) HUTCH_MUST_CHECK;
/* A layer_source: the context is the struct archive_file. */
ssize_t archive_file_read(void *context, void *buffer, size_t size, struct hutch_error *err);
void archive_file_done(struct archive_file *file);
/* A whole small one. */
int archive_read_text(const struct archive *archive, const char *name, size_t ceiling,
                      char **ret_text, size_t *ret_length,
                      struct hutch_error *err) HUTCH_MUST_CHECK;

/* ---- between the files of this part ---- */

struct archive_member {
    char *name;
    char *link; /* NULL: a file; else the cleaned name that it is another one for */
    uint64_t offset;
    uint64_t size;
};
struct archive_members {
    struct archive_member *items; /* in the order of names */
    size_t count;
    size_t capacity;
};

/* archive_tar.c: what an uncompressed tar archive holds. Reads the headers and seeks past the
 * rest. */
int archive_tar_list(int fd, struct archive_members *ret_members,
                     struct hutch_error *err) HUTCH_MUST_CHECK;
void archive_members_done(struct archive_members *members);
const struct archive_member *archive_members_find(const struct archive_members *members,
                                                  const char *name);

/* archive_spool.c: everything from fd, decompressed, as a file without a name. */
int archive_spool(const struct image_store *store, int fd,
                  struct hutch_error *err) HUTCH_MUST_CHECK;
/* Is what begins at this place of a file compressed? */
bool archive_is_compressed(int fd, uint64_t at);

#endif
