/* SPDX-License-Identifier: Apache-2.0 */
/* The record of an image, written last of all that belongs to it. */
#include "image/store_add.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "image/record.h"
#include "image/store_files.h"
#include "image/store_work.h"
#include "util/own.h"

/* Sets *ret_opaque when nothing below this layer can be seen. */
static int check_layer(const struct image_store *store, const char *name, bool *ret_opaque,
                       struct hutch_error *err)
{
    char path[STORE_PATH_BYTES];
    char value;
    if (!record_layer_is_valid(name))
        return hutch_fail(err, HUTCH_E_INVALID, 0, "'%.40s' is no layer's number", name);
    (void)snprintf(path, sizeof(path), "layers/%s", name);
    hutch_autofd int fd = openat(store->dir, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return hutch_fail_errno(err, errno, "open layer %s of the image store", name);
    *ret_opaque = fgetxattr(fd, "user.overlay.opaque", &value, 1) == 1 && value == 'y';
    return 0;
}

static int check_content(const struct image_store *store, const struct image *image,
                         size_t *ret_visible, struct hutch_error *err)
{
    const char *const blobs[] = {image->digest, image->config_digest};
    bool opaque = false;
    for (size_t i = 0; i < HUTCH_COUNT(blobs); i++)
        if (!store_has_blob(store, blobs[i], NULL))
            return hutch_fail(err, HUTCH_E_INVALID, 0, "blob '%.19s' is not in the image store",
                              blobs[i]);
    *ret_visible = image->layers.count;
    for (size_t i = 0; i < image->layers.count; i++) {
        int r = check_layer(store, image->layers.items[i], &opaque, err);
        if (r < 0)
            return r;
        if (opaque && i + 1 < *ret_visible)
            *ret_visible = i + 1;
    }
    return 0;
}

static bool is_there(const struct image_store *store, const char *digest)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    hutch_cleanup(image_done) struct image image = IMAGE_INIT;
    return image_find_digest(store, digest, &image, &ignored) == 0;
}

/* What is written must be what a run reads back, to the last word of an image's author. */
static int format_checked(const struct image *image, char **ret_text, size_t *ret_length,
                          struct hutch_error *err)
{
    hutch_cleanup(image_done) struct image again = IMAGE_INIT;
    int r = record_format(image, ret_text, ret_length, err);
    if (r >= 0)
        r = record_parse(*ret_text, *ret_length, &again, err);
    return r;
}

int store_add_image(const struct image_store *store, const struct image *image,
                    struct hutch_error *err)
{
    char path[STORE_PATH_BYTES];
    hutch_autofree char *text = NULL;
    size_t length = 0, visible = 0;
    int r = check_content(store, image, &visible, err);
    if (r < 0)
        return hutch_wrap(err, "image '%.19s' is not whole: ", image->digest);
    if (is_there(store, image->digest))
        return 0;
    struct image seen = *image;
    seen.layers.count = visible;
    r = format_checked(&seen, &text, &length, err);
    if (r < 0)
        return hutch_wrap(err, "write the record of image '%.19s': ", image->digest);
    (void)snprintf(path, sizeof(path), "images/%s", IMAGE_DIGEST_HEX(image->digest));
    return store_put_file(store, path, text, length, true, err);
}
