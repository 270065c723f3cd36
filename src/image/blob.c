/* SPDX-License-Identifier: Apache-2.0 */
/* A blob on its way into the store. The file below partial/ is locked by who writes it: whoever
 * comes second waits for that lock, and looks again when it gets it. The lock ends with its holder,
 * however that ends, and what it left is hashed before anything is added to it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/hash.h"
#include "image/store_add.h"
#include "image/store_files.h"
#include "image/store_work.h"
#include "util/fs.h"
#include "util/own.h"

#define CHUNK_BYTES (256u << 10)
/* So that little is left to wait for when the blob gets its name. */
#define WRITE_BACK_BYTES (8u << 20)

struct blob_writer {
    struct image_store store; /* borrowed */
    int fd;
    char path[STORE_PATH_BYTES]; /* where it grows */
    char digest[IMAGE_DIGEST_BYTES];
    uint64_t size; /* UINT64_MAX: not known */
    uint64_t have;
    struct hash *hash;
    bool is_over; /* it has its name, or is gone */
};

static bool is_named(const struct blob_writer *writer)
{
    return writer->digest[0] != '\0';
}

static const char *called(const struct blob_writer *writer)
{
    return is_named(writer) ? writer->digest : "of unknown digest";
}

static void drop(struct blob_writer *writer)
{
    (void)unlinkat(writer->store.dir, writer->path, 0);
    writer->is_over = true;
}

void blob_free(struct blob_writer *writer)
{
    if (!writer)
        return;
    if (writer->fd >= 0 && !writer->is_over && (!is_named(writer) || writer->have == 0))
        drop(writer);
    hutch_fd_close(&writer->fd);
    hash_free(writer->hash);
    free(writer);
}

static void blob_freep(struct blob_writer **writer)
{
    blob_free(*writer);
}

static struct blob_writer *new_writer(const struct image_store *store)
{
    struct blob_writer *writer = calloc(1, sizeof(*writer));
    if (!writer)
        return NULL;
    *writer = (struct blob_writer){.store = *store, .fd = HUTCH_NO_FD, .size = UINT64_MAX};
    writer->hash = hash_new();
    return writer;
}

int blob_rewind(struct blob_writer *writer, struct hutch_error *err)
{
    if (ftruncate(writer->fd, 0) < 0 || lseek(writer->fd, 0, SEEK_SET) < 0)
        return hutch_fail_errno(err, errno, "empty '%s'", writer->path);
    hash_free(writer->hash);
    writer->hash = hash_new();
    writer->have = 0;
    return 0;
}

/* What an earlier try left, hashed: it may have been cut anywhere, or lost its middle with the
 * power. */
static int take_up(struct blob_writer *writer, struct hutch_error *err)
{
    struct stat info;
    hutch_autofree char *chunk = malloc(CHUNK_BYTES);
    if (!chunk)
        return hutch_fail_nomem(err);
    if (fstat(writer->fd, &info) < 0)
        return hutch_fail_errno(err, errno, "look at '%s'", writer->path);
    if ((uint64_t)info.st_size > writer->size)
        return blob_rewind(writer, err);
    for (;;) {
        ssize_t got = read(writer->fd, chunk, CHUNK_BYTES);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return hutch_fail_errno(err, errno, "read '%s'", writer->path);
        if (got == 0)
            return 0;
        hash_add(writer->hash, chunk, (size_t)got);
        writer->have += (uint64_t)got;
    }
}

/* Is what is locked still what the name leads to? Its last holder may have given it its place among
 * the blobs, or removed it. */
static bool has_its_name(const struct blob_writer *writer)
{
    struct stat own, named;
    return fstat(writer->fd, &own) == 0 &&
           fstatat(writer->store.dir, writer->path, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           own.st_ino == named.st_ino && own.st_dev == named.st_dev;
}

static int lock_partial(struct blob_writer *writer, struct hutch_error *err)
{
    do {
        hutch_fd_close(&writer->fd);
        writer->fd = openat(writer->store.dir, writer->path,
                            O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (writer->fd < 0)
            return hutch_fail_errno(err, errno, "make '%s' in the image store", writer->path);
        if (store_lock(writer->fd, F_WRLCK, 0, true) < 0)
            return hutch_fail_errno(err, errno, "lock '%s' in the image store", writer->path);
    } while (!has_its_name(writer));
    return 0;
}

/* Whether the store has it. One of another size is damaged and goes, or the size is wrong. */
static int check_there(const struct image_store *store, const char *digest, uint64_t size,
                       bool *ret_there, struct hutch_error *err)
{
    char path[STORE_PATH_BYTES];
    uint64_t actual;
    *ret_there = store_has_blob(store, digest, &actual);
    if (!*ret_there || actual == size)
        return 0;
    if (store_check_blob(store, digest, err) >= 0)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "blob '%.19s' has %" PRIu64 " bytes and not %" PRIu64
                          " as the manifest says",
                          digest, actual, size);
    *ret_there = false;
    (void)snprintf(path, sizeof(path), "blobs/%s", IMAGE_DIGEST_HEX(digest));
    if (unlinkat(store->dir, path, 0) < 0 && errno != ENOENT)
        return hutch_fail_errno(err, errno, "remove the damaged '%s'", path);
    return 0;
}

int blob_begin(const struct image_store *store, const char *digest, uint64_t size,
               struct blob_writer **ret_writer, bool *ret_there, uint64_t *ret_have,
               struct hutch_error *err)
{
    bool there = false;
    hutch_cleanup(blob_freep) struct blob_writer *writer = NULL;
    if (!image_digest_is_valid(digest))
        return hutch_fail(err, HUTCH_E_INVALID, 0, "'%.90s' is no digest", digest);
    int r = check_there(store, digest, size, &there, err);
    if (r >= 0 && !there) {
        writer = new_writer(store);
        if (!writer)
            return hutch_fail_nomem(err);
        memcpy(writer->digest, digest, IMAGE_DIGEST_BYTES);
        writer->size = size;
        (void)snprintf(writer->path, sizeof(writer->path), "partial/%s", IMAGE_DIGEST_HEX(digest));
        r = lock_partial(writer, err);
        if (r >= 0)
            r = check_there(store, digest, size, &there, err);
        if (r >= 0 && there)
            drop(writer); /* the one before us was ready when we made this anew */
        else if (r >= 0)
            r = take_up(writer, err);
    }
    if (r < 0)
        return r;
    *ret_there = there;
    *ret_have = there ? size : writer->have;
    *ret_writer = there ? NULL : HUTCH_TAKE_PTR(writer);
    return 0;
}

int blob_begin_unnamed(const struct image_store *store, struct blob_writer **ret_writer,
                       struct hutch_error *err)
{
    hutch_cleanup(blob_freep) struct blob_writer *writer = new_writer(store);
    if (!writer)
        return hutch_fail_nomem(err);
    int r = store_work_path(writer->path, err);
    if (r < 0)
        return r;
    writer->fd =
        openat(store->dir, writer->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (writer->fd < 0)
        return hutch_fail_errno(err, errno, "make '%s' in the image store", writer->path);
    *ret_writer = HUTCH_TAKE_PTR(writer);
    return 0;
}

int blob_write(struct blob_writer *writer, const void *data, size_t length, struct hutch_error *err)
{
    if (length > writer->size - writer->have)
        return hutch_fail(err, HUTCH_E_INVALID, EFBIG,
                          "blob '%.19s' is longer than the %" PRIu64 " bytes it is said to have",
                          called(writer), writer->size);
    if (hutch_write_all(writer->fd, data, length) < 0) {
        int cause = errno;
        /* A part of it may be there: it is not hashed, so it must not count as there. What filled
         * the disk must not stay on it. */
        if (cause == ENOSPC || cause == EDQUOT || ftruncate(writer->fd, (off_t)writer->have) < 0 ||
            lseek(writer->fd, (off_t)writer->have, SEEK_SET) < 0)
            drop(writer);
        return hutch_fail_errno(err, cause, "write blob '%.19s' into the image store",
                                called(writer));
    }
    hash_add(writer->hash, data, length);
    uint64_t before = writer->have / WRITE_BACK_BYTES;
    writer->have += length;
    if (writer->have / WRITE_BACK_BYTES != before)
        (void)sync_file_range(writer->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
    return 0;
}

int blob_descriptor(const struct blob_writer *writer)
{
    return writer->fd;
}

static int give_name(struct blob_writer *writer, const char *digest, struct hutch_error *err)
{
    char path[STORE_PATH_BYTES];
    (void)snprintf(path, sizeof(path), "blobs/%s", IMAGE_DIGEST_HEX(digest));
    if (fdatasync(writer->fd) < 0 ||
        renameat(writer->store.dir, writer->path, writer->store.dir, path) < 0)
        return hutch_fail_errno(err, errno, "write blob '%.19s' into the image store", digest);
    writer->is_over = true;
    if (store_sync_parent(writer->store.dir, path) < 0)
        return hutch_fail_errno(err, errno, "sync the blobs of the image store");
    return 0;
}

int blob_commit(struct blob_writer *writer, struct hutch_error *err)
{
    char digest[IMAGE_DIGEST_BYTES];
    if (writer->have != writer->size)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "blob '%.19s' ends after %" PRIu64 " of %" PRIu64 " bytes",
                          writer->digest, writer->have, writer->size);
    int r = hash_finish(HUTCH_TAKE_PTR(writer->hash), digest, err);
    if (r < 0)
        return r;
    if (strcmp(digest, writer->digest) != 0) {
        drop(writer);
        return hutch_fail(err, HUTCH_E_INVALID, EBADMSG,
                          "what came as blob '%.19s' is '%.19s': it was damaged on its way or at "
                          "its source",
                          writer->digest, digest);
    }
    return give_name(writer, digest, err);
}

int blob_commit_unnamed(struct blob_writer *writer, char ret_digest[IMAGE_DIGEST_BYTES],
                        uint64_t *ret_size, struct hutch_error *err)
{
    char digest[IMAGE_DIGEST_BYTES];
    int r = hash_finish(HUTCH_TAKE_PTR(writer->hash), digest, err);
    if (r >= 0)
        r = give_name(writer, digest, err);
    if (r < 0)
        return r;
    memcpy(ret_digest, digest, IMAGE_DIGEST_BYTES);
    *ret_size = writer->have;
    return 0;
}
