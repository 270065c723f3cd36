/* SPDX-License-Identifier: Apache-2.0 */
#include "image/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/value.h"
#include "image/record.h"
#include "image/settle.h"
#include "image/store_files.h"
#include "util/own.h"
#include "util/state_dir.h"

int store_lock(int fd, short type, off_t byte, bool waits)
{
    struct flock range = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    int r;
    do
        r = fcntl(fd, waits ? F_OFD_SETLKW : F_OFD_SETLK, &range);
    while (r < 0 && errno == EINTR);
    return r;
}

ssize_t store_read_small(int dir, const char *path, char *buffer, size_t size)
{
    hutch_autofd int fd = openat(dir, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, buffer, size - 1);
    if (length >= 0)
        buffer[length] = '\0';
    return length;
}

/* ---- the directory ---- */

static int make_directories(int dir)
{
    static const char *const names[] = {"blobs",  "partial", "layers", "unpacked",
                                        "images", "refs",    "tmp"};
    for (size_t i = 0; i < HUTCH_COUNT(names); i++)
        if (mkdirat(dir, names[i], 0700) < 0 && errno != EEXIST)
            return -1;
    return 0;
}

int image_store_open(struct image_store *ret_store, bool make, struct hutch_error *err)
{
    char lib[400];
    char path[420];
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    *ret_store = (struct image_store){.dir = HUTCH_NO_FD};
    if (!make && !state_exists("lib"))
        return 0;
    int r = state_directory("lib", lib, sizeof(lib), err);
    if (r < 0)
        return r;
    (void)snprintf(path, sizeof(path), "%s/images", lib);
    if (make && mkdir(path, 0700) < 0 && errno != EEXIST)
        return hutch_fail_errno(err, errno, "make the image store '%.200s'", path);
    hutch_autofd int dir = open(path, flags);
    if (dir < 0 && errno == ENOENT && !make)
        return 0;
    if (dir < 0 || (make && make_directories(dir) < 0))
        return hutch_fail_errno(err, errno, "open the image store '%.200s'", path);
    ret_store->dir = HUTCH_TAKE_FD(dir);
    return 0;
}

void image_store_close(struct image_store *store)
{
    hutch_fd_close(&store->dir);
}

/* ---- names ---- */

void store_reference_path(const struct image_reference *reference,
                          char ret_path[STORE_REFERENCE_PATH_BYTES])
{
    bool by_digest = reference->digest[0];
    (void)snprintf(ret_path, STORE_REFERENCE_PATH_BYTES, "refs/%s/%s/%c%s", reference->registry,
                   reference->repository, by_digest ? '@' : ':',
                   by_digest ? reference->digest : reference->tag);
}

int store_read_reference(const struct image_store *store, const char *path,
                         char ret_digest[IMAGE_DIGEST_BYTES], struct hutch_error *err)
{
    char text[IMAGE_DIGEST_BYTES + 8];
    ssize_t length = store->dir < 0 ? -1 : store_read_small(store->dir, path, text, sizeof(text));
    if (length < 0 && (store->dir < 0 || errno == ENOENT || errno == ENOTDIR))
        return hutch_fail(err, HUTCH_E_NOT_FOUND, ENOENT, "there is no such image here");
    if (length < 0)
        return hutch_fail_errno(err, errno, "read 'images/%.300s'", path);
    if (length == IMAGE_DIGEST_BYTES && text[length - 1] == '\n')
        text[length - 1] = '\0';
    if (!image_digest_is_valid(text))
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "the file 'images/%.250s' of the store is damaged; pull the image again",
                          path);
    memcpy(ret_digest, text, IMAGE_DIGEST_BYTES);
    return 0;
}

/* ---- records ---- */

void image_done(struct image *image)
{
    free(image->created);
    free(image->user);
    free(image->workdir);
    free(image->stop_signal);
    hutch_strlist_done(&image->env);
    hutch_strlist_done(&image->entrypoint);
    hutch_strlist_done(&image->cmd);
    hutch_strlist_done(&image->labels);
    hutch_strlist_done(&image->layers);
    hutch_fd_close(&image->lock);
    *image = (struct image)IMAGE_INIT;
}

static int fail_absent(const char *digest, struct hutch_error *err)
{
    return hutch_fail(err, HUTCH_E_NOT_FOUND, ENOENT, "there is no image '%.90s' here", digest);
}

int store_read_record(int fd, struct image *image, struct hutch_error *err)
{
    struct stat info;
    if (fstat(fd, &info) < 0)
        return hutch_fail_errno(err, errno, "look at an image's record");
    if (!S_ISREG(info.st_mode) || info.st_size > HUTCH_DOCUMENT_MAX_BYTES)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "it is no file of a record's size");
    if (info.st_nlink == 0)
        return fail_absent(image->digest, err);
    size_t length = (size_t)info.st_size;
    hutch_autofree char *text = malloc(length + 1);
    if (!text)
        return hutch_fail_nomem(err);
    ssize_t got = pread(fd, text, length, 0);
    if (got < 0)
        return hutch_fail_errno(err, errno, "read an image's record");
    return record_parse(text, (size_t)got, image, err);
}

/* Of a record that names what is not there, the mount would fail with a bare "no such file". */
static int check_layers(const struct image_store *store, const struct image *image,
                        struct hutch_error *err)
{
    char path[STORE_PATH_BYTES];
    for (size_t i = 0; i < image->layers.count; i++) {
        (void)snprintf(path, sizeof(path), "layers/%s", image->layers.items[i]);
        if (faccessat(store->dir, path, F_OK, 0) < 0)
            return hutch_fail(err, HUTCH_E_INVALID, errno, "its layer %s is not there",
                              image->layers.items[i]);
    }
    return 0;
}

static int find(const struct image_store *store, struct image *image, struct hutch_error *err)
{
    char path[STORE_PATH_BYTES];
    (void)snprintf(path, sizeof(path), "images/%s", IMAGE_DIGEST_HEX(image->digest));
    image->lock = openat(store->dir, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (image->lock < 0 && errno == ENOENT)
        return fail_absent(image->digest, err);
    if (image->lock < 0)
        return hutch_fail_errno(err, errno, "open '%s'", path);
    /* A prune holds it for a moment, and takes the record's name away meanwhile or does not. */
    if (store_lock(image->lock, F_RDLCK, 0, true) < 0)
        return hutch_fail_errno(err, errno, "lock '%s'", path);
    int r = store_read_record(image->lock, image, err);
    if (r >= 0)
        r = check_layers(store, image, err);
    if (r != -HUTCH_E_INVALID)
        return r;
    /* As good as not there: the next pull makes it whole, and a run may ask for that pull. */
    err->code = HUTCH_E_NOT_FOUND;
    return hutch_wrap(err,
                      "the record of image '%.19s' is damaged, pull it again: ", image->digest);
}

int image_find_digest(const struct image_store *store, const char *digest, struct image *ret_image,
                      struct hutch_error *err)
{
    hutch_cleanup(image_done) struct image image = IMAGE_INIT;
    if (!image_digest_is_valid(digest))
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "'%.90s' is no digest; write \"sha256:\" and 64 hexadecimal digits",
                          digest);
    if (store->dir < 0)
        return fail_absent(digest, err);
    memcpy(image.digest, digest, IMAGE_DIGEST_BYTES);
    int r = settle_check(store, err);
    if (r >= 0)
        r = find(store, &image, err);
    if (r < 0)
        return r;
    *ret_image = image;
    image = (struct image)IMAGE_INIT;
    return 0;
}

/* A digest in a reference is mostly that of the image itself. It may also be that of an index, of
 * which the name's file tells the image that was chosen. The name may get another image, and its
 * old one be pruned, between the two steps: then the next look finds the new one. */
int image_find(const struct image_store *store, const struct image_reference *reference,
               struct image *ret_image, struct hutch_error *err)
{
    char path[STORE_REFERENCE_PATH_BYTES];
    char digest[IMAGE_DIGEST_BYTES];
    int r = reference->digest[0] ? image_find_digest(store, reference->digest, ret_image, err)
                                 : -HUTCH_E_NOT_FOUND;
    if (r != -HUTCH_E_NOT_FOUND)
        return r;
    store_reference_path(reference, path);
    for (int tries = 0; r == -HUTCH_E_NOT_FOUND && tries < 3; tries++) {
        r = store_read_reference(store, path, digest, err);
        if (r < 0)
            return r;
        r = image_find_digest(store, digest, ret_image, err);
    }
    return r;
}

int image_open_layers(const struct image_store *store, struct hutch_error *err)
{
    int fd = openat(store->dir, "layers", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd >= 0 ? fd : hutch_fail_errno(err, errno, "open the layers of the image store");
}
