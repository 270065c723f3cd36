/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/hash.h"
#include "image/store_add.h"
#include "image/store_files.h"
#include "util/own.h"

#define CHUNK_BYTES (256u << 10)

bool store_has_blob(const struct image_store *store, const char *digest, uint64_t *ret_size)
{
    char path[STORE_PATH_BYTES];
    struct stat info;
    if (store->dir < 0 || !image_digest_is_valid(digest))
        return false;
    (void)snprintf(path, sizeof(path), "blobs/%s", IMAGE_DIGEST_HEX(digest));
    if (fstatat(store->dir, path, &info, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(info.st_mode))
        return false;
    if (ret_size)
        *ret_size = (uint64_t)info.st_size;
    return true;
}

int store_open_blob(const struct image_store *store, const char *digest, struct hutch_error *err)
{
    char path[STORE_PATH_BYTES];
    if (!image_digest_is_valid(digest))
        return hutch_fail(err, HUTCH_E_INVALID, 0, "'%.90s' is no digest", digest);
    (void)snprintf(path, sizeof(path), "blobs/%s", IMAGE_DIGEST_HEX(digest));
    int fd = openat(store->dir, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return hutch_fail(err, HUTCH_E_NOT_FOUND, ENOENT,
                          "blob '%.19s' is not in the image store; pull the image again", digest);
    return fd >= 0 ? fd : hutch_fail_errno(err, errno, "open blob '%.19s'", digest);
}

static int fail_damaged(const char *digest, struct hutch_error *err)
{
    return hutch_fail(err, HUTCH_E_INVALID, EBADMSG,
                      "blob '%.19s' of the image store is damaged; remove the image and pull it "
                      "again",
                      digest);
}

int store_check_blob(const struct image_store *store, const char *digest, struct hutch_error *err)
{
    char actual[IMAGE_DIGEST_BYTES];
    hutch_autofree char *chunk = malloc(CHUNK_BYTES);
    hutch_autofd int fd = store_open_blob(store, digest, err);
    if (fd < 0)
        return fd;
    struct hash *hash = hash_new();
    ssize_t got = chunk ? 1 : 0;
    while (got > 0 || (got < 0 && errno == EINTR)) {
        got = read(fd, chunk, CHUNK_BYTES);
        if (got > 0)
            hash_add(hash, chunk, (size_t)got);
    }
    int cause = errno;
    int r = hash_finish(hash, actual, err);
    if (r >= 0 && !chunk)
        r = hutch_fail_nomem(err);
    if (r >= 0 && got < 0)
        r = hutch_fail_errno(err, cause, "read blob '%.19s'", digest);
    return r < 0 || !strcmp(actual, digest) ? r : fail_damaged(digest, err);
}

int store_read_blob(const struct image_store *store, const char *digest, size_t ceiling,
                    char **ret_text, size_t *ret_length, struct hutch_error *err)
{
    struct stat info;
    char actual[IMAGE_DIGEST_BYTES];
    hutch_autofd int fd = store_open_blob(store, digest, err);
    if (fd < 0)
        return fd;
    if (fstat(fd, &info) < 0)
        return hutch_fail_errno(err, errno, "look at blob '%.19s'", digest);
    if (!S_ISREG(info.st_mode) || (uint64_t)info.st_size > ceiling)
        return hutch_fail(err, HUTCH_E_INVALID, EFBIG,
                          "blob '%.19s' is larger than the %zu bytes it may have", digest, ceiling);
    size_t length = 0, size = (size_t)info.st_size;
    hutch_autofree char *text = malloc(size + 1);
    if (!text)
        return hutch_fail_nomem(err);
    while (length < size) {
        ssize_t got = read(fd, text + length, size - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return hutch_fail_errno(err, errno, "read blob '%.19s'", digest);
        if (got == 0)
            break;
        length += (size_t)got;
    }
    text[length] = '\0';
    int r = hash_of(text, length, actual, err);
    if (r >= 0 && strcmp(actual, digest) != 0)
        r = fail_damaged(digest, err);
    if (r < 0)
        return r;
    *ret_text = HUTCH_TAKE_PTR(text);
    *ret_length = length;
    return 0;
}

int store_add_blob(const struct image_store *store, const void *data, size_t length,
                   char ret_digest[IMAGE_DIGEST_BYTES], struct hutch_error *err)
{
    struct blob_writer *writer = NULL;
    uint64_t size;
    int r = blob_begin_unnamed(store, &writer, err);
    if (r >= 0)
        r = blob_write(writer, data, length, err);
    if (r >= 0)
        r = blob_commit_unnamed(writer, ret_digest, &size, err);
    blob_free(writer);
    return r;
}
