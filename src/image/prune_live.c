/* SPDX-License-Identifier: Apache-2.0 */
#include "image/prune_live.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "image/manifest.h"
#include "image/store_add.h"
#include "image/store_files.h"
#include "util/own.h"

static void needs_done(struct needs *needs)
{
    hutch_strlist_done(&needs->layers);
    hutch_strlist_done(&needs->blobs);
}

void live_done(struct live *live)
{
    hutch_strlist_done(&live->digests);
    hutch_strlist_done(&live->dead_records);
    needs_done(&live->needs);
    needs_done(&live->dead_needs);
}

int live_list(const struct image_store *store, const char *path, struct hutch_strlist *names,
              struct hutch_error *err)
{
    int fd = openat(store->dir, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return 0;
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (!directory) {
        int cause = errno;
        hutch_fd_close(&fd);
        return hutch_fail_errno(err, cause, "open 'images/%s'", path);
    }
    int r = 0;
    /* half a list would make the other half look unused */
    for (struct dirent *entry; r >= 0 && (errno = 0, entry = readdir(directory));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            r = hutch_strlist_add(names, entry->d_name, err);
    if (r >= 0 && errno)
        r = hutch_fail_errno(err, errno, "list 'images/%s'", path);
    (void)closedir(directory);
    return r;
}

struct collecting {
    const struct store_prune_options *options;
    struct live *live;
    struct hutch_error *err;
    int status;
};

/* It may have named any of them: none can be told to have no name. */
static int fail_damaged(const struct image_reference *reference, struct hutch_error *err)
{
    char text[IMAGE_REFERENCE_BYTES];
    image_reference_format_short(reference, text);
    return hutch_fail(
        err, HUTCH_E_INVALID, 0,
        "the name '%.200s' is damaged, and which image it had is not known; pull that "
        "again, or give the name up with 'hutch image rm %.200s'",
        text, text);
}

static int add_named(void *context, const struct image_reference *reference, const char *digest,
                     uint64_t changed_us)
{
    struct collecting *collecting = context;
    (void)changed_us;
    if (!image_digest_is_valid(digest)) {
        collecting->status =
            collecting->options->only ? 0 : fail_damaged(reference, collecting->err);
        return collecting->status;
    }
    collecting->status = hutch_strlist_add(&collecting->live->digests, digest, collecting->err);
    return collecting->status;
}

static int add_blob(struct needs *needs, const char *digest, struct hutch_error *err)
{
    return hutch_strlist_add(&needs->blobs, IMAGE_DIGEST_HEX(digest), err);
}

/* The manifest tells which blobs the layers came as. Where it is damaged, *ret_knows is false. */
static int add_manifest_blobs(const struct image_store *store, const char *digest,
                              struct needs *needs, bool *ret_knows, struct hutch_error *err)
{
    hutch_autofree char *text = NULL;
    size_t length = 0;
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    hutch_cleanup(manifest_done) struct manifest manifest = {0};
    *ret_knows =
        store_read_blob(store, digest, MANIFEST_MAX_BYTES, &text, &length, &ignored) == 0 &&
        manifest_parse(text, length, NULL, &manifest, &ignored) == 0;
    int r = 0;
    for (size_t i = 0; r >= 0 && i < manifest.layer_count; i++)
        r = add_blob(needs, manifest.layers[i].digest, err);
    return r;
}

static int add_needs(const struct image_store *store, const struct image *image,
                     struct needs *needs, bool *ret_knows, struct hutch_error *err)
{
    int r = add_blob(needs, image->digest, err);
    if (r >= 0)
        r = add_blob(needs, image->config_digest, err);
    if (r >= 0)
        r = add_manifest_blobs(store, image->digest, needs, ret_knows, err);
    for (size_t i = 0; r >= 0 && i < image->layers.count; i++)
        r = hutch_strlist_add(&needs->layers, image->layers.items[i], err);
    return r;
}

/* What cannot be looked at may be in use; only what is no file cannot. */
static bool may_be_used(const struct image_store *store, const char *path)
{
    hutch_autofd int fd = openat(store->dir, path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return errno != ENOENT && errno != ELOOP && errno != EISDIR;
    return store_lock(fd, F_WRLCK, 0, false) < 0;
}

static bool is_wanted(const struct store_prune_options *options, const struct live *live,
                      const char *digest)
{
    if (options->only && strcmp(options->only, digest) != 0)
        return true;
    return hutch_strlist_has(&live->digests, digest);
}

/* A lock that is taken after this look finds the record without its name (see image_find). */
static int look_at(const struct image_store *store, const char *hex,
                   const struct store_prune_options *options, struct live *live,
                   struct hutch_error *err)
{
    char path[NAME_MAX + 16], digest[NAME_MAX + 16];
    struct hutch_error why = HUTCH_ERROR_INIT;
    hutch_cleanup(image_done) struct image image = IMAGE_INIT;
    (void)snprintf(path, sizeof(path), "images/%s", hex);
    (void)snprintf(digest, sizeof(digest), "sha256:%s", hex);
    bool is_used = may_be_used(store, path);
    bool lives = is_used || is_wanted(options, live, digest), knows = true;
    if (!image_digest_is_valid(digest) || (!lives && !options->only))
        return hutch_strlist_add(&live->dead_records, path, err);
    int r = image_find_digest(store, digest, &image, &why);
    bool is_whole = r >= 0;
    if (!is_whole && r != -HUTCH_E_NOT_FOUND)
        return hutch_fail(err, why.code, why.os_errno, "%s", why.msg);
    r = is_whole ? add_needs(store, &image, lives ? &live->needs : &live->dead_needs, &knows, err)
                 : 0;
    if (r >= 0 && (!lives || (!is_whole && !is_used)))
        r = hutch_strlist_add(&live->dead_records, path, err);
    if (lives && !is_whole && is_used)
        live->keeps_all_layers = live->keeps_all_blobs = true;
    if (lives && !knows)
        live->keeps_all_blobs = true;
    return r;
}

int live_find(const struct image_store *store, const struct store_prune_options *options,
              struct live *live, struct hutch_error *err)
{
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist records = {0};
    struct collecting collecting = {.options = options, .live = live, .err = err};
    int r = options->takes_names ? 0 : store_references(store, add_named, &collecting, err);
    if (r >= 0)
        r = collecting.status;
    if (r >= 0 && options->add_pinned)
        r = options->add_pinned(&live->digests, err);
    if (r >= 0)
        r = live_list(store, "images", &records, err);
    for (size_t i = 0; r >= 0 && i < records.count; i++)
        r = look_at(store, records.items[i], options, live, err);
    return r;
}
