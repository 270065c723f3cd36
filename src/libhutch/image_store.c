/* SPDX-License-Identifier: Apache-2.0 */
/* The public entry points for the images that are here: what there is, other names, removal. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backend/native/home.h"
#include "hutch/image.h"
#include "image/build_place.h"
#include "image/prune_live.h"
#include "image/store_add.h"
#include "image/store_files.h"
#include "libhutch/image_named.h"
#include "libhutch/scratch.h"
#include "util/own.h"

#define PRUNE_PATIENCE_MS 3000
#define REMOVE_PATIENCE_MS 300
#define LEAST_DIGITS 6 /* of a digest that is cut */

/* The digits that a listing shows are enough, when they are those of one image. */
static bool complete_digest(const struct image_store *store, const char *digits,
                            char ret_digest[IMAGE_DIGEST_BYTES])
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist records = {0};
    size_t length = strlen(digits), found = 0;
    if (store->dir < 0 || length < LEAST_DIGITS || strspn(digits, "0123456789abcdef") != length ||
        live_list(store, "images", &records, &ignored) < 0)
        return false;
    for (size_t i = 0; i < records.count; i++) {
        char digest[NAME_MAX + 16];
        (void)snprintf(digest, sizeof(digest), "sha256:%s", records.items[i]);
        if (strncmp(records.items[i], digits, length) != 0 || !image_digest_is_valid(digest))
            continue;
        memcpy(ret_digest, digest, IMAGE_DIGEST_BYTES);
        found++;
    }
    return found == 1;
}

/* What a text means: a digest, whole or as listings show it, or a name. A name comes first. */
static int resolve(const struct image_store *store, const char *text,
                   struct image_reference *ret_reference, char ret_digest[IMAGE_DIGEST_BYTES],
                   struct hutch_error *err)
{
    char path[STORE_REFERENCE_PATH_BYTES];
    ret_digest[0] = '\0';
    *ret_reference = (struct image_reference){0};
    if (image_digest_is_valid(text)) {
        memcpy(ret_digest, text, IMAGE_DIGEST_BYTES);
        return 0;
    }
    int r = image_reference_parse(text, ret_reference, err);
    if (r < 0)
        return r;
    store_reference_path(ret_reference, path);
    if (store->dir < 0 || faccessat(store->dir, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
        (void)complete_digest(store, text, ret_digest);
    return 0;
}

int image_named_find(const struct image_store *store, const char *text, struct image *ret_image,
                     struct hutch_error *err)
{
    struct image_reference reference;
    char digest[IMAGE_DIGEST_BYTES];
    int r = resolve(store, text, &reference, digest, err);
    if (r >= 0)
        r = digest[0] ? image_find_digest(store, digest, ret_image, err)
                      : image_find(store, &reference, ret_image, err);
    return r == -HUTCH_E_NOT_FOUND ? hutch_wrap(err, "image '%.150s': ", text) : r;
}

/* ---- listing ---- */

struct listing {
    const struct image_store *store;
    hutch_image_fn on_image;
    void *userdata;
};

/* A damaged image is listed too: its name is there, and can be pulled again or removed. */
static int list_one(void *context, const struct image_reference *reference, const char *digest,
                    uint64_t changed_us)
{
    const struct listing *listing = context;
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    char text[IMAGE_REFERENCE_BYTES], name[IMAGE_REFERENCE_BYTES], platform[100] = "damaged";
    hutch_cleanup(image_done) struct image image = IMAGE_INIT;
    image_reference_format(reference, text);
    image_reference_format_short(reference, name);
    if (image_find_digest(listing->store, digest, &image, &ignored) >= 0)
        (void)snprintf(platform, sizeof(platform), "%s/%s%s%s", image.os, image.architecture,
                       image.variant[0] ? "/" : "", image.variant);
    struct hutch_image_info info = {
        .reference = text,
        .name = name,
        .digest = digest,
        .platform = platform,
        .created = image.created,
        .bytes = image.bytes,
        .changed_us = changed_us,
        .layers = image.layers.count,
    };
    return listing->on_image(listing->userdata, &info);
}

int hutch_image_list(hutch_image_fn on_image, void *userdata, struct hutch_error *err)
{
    hutch_cleanup(image_store_close) struct image_store store = {.dir = HUTCH_NO_FD};
    OR_SCRATCH(err);
    if (image_store_open(&store, false, err) < 0)
        return -(int)err->code;
    struct listing listing = {.store = &store, .on_image = on_image, .userdata = userdata};
    return store_references(&store, list_one, &listing, err);
}

/* ---- names ---- */

int hutch_image_tag(const char *text, const char *new_text, struct hutch_error *err)
{
    hutch_cleanup(image_store_close) struct image_store store = {.dir = HUTCH_NO_FD};
    hutch_cleanup(image_done) struct image image = IMAGE_INIT;
    hutch_autofd int adding = HUTCH_NO_FD;
    struct image_reference reference;
    OR_SCRATCH(err);
    int r = image_reference_parse(new_text, &reference, err);
    if (r < 0)
        return r;
    if (reference.digest[0])
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "'%.200s' has a digest, which only an image's content can give it; "
                          "write NAME:TAG",
                          new_text);
    r = image_store_open(&store, false, err);
    if (r >= 0)
        r = image_named_find(&store, text, &image, err);
    if (r >= 0)
        r = store_begin_adding(&store, &adding, err);
    return r < 0 ? r : store_set_reference(&store, &reference, image.digest, err);
}

struct names_of {
    const char *digest;
    const struct image_store *store;
    struct hutch_error *err;
    size_t count;
    int status;
};

static int remove_if_its(void *context, const struct image_reference *reference, const char *digest,
                         uint64_t changed_us)
{
    struct names_of *names = context;
    (void)changed_us;
    if (strcmp(digest, names->digest) != 0)
        return 0;
    names->count++;
    names->status = store_remove_reference(names->store, reference, names->err);
    return names->status;
}

/* By digest: every name that leads to it. One that has none may be there without. */
static int remove_names(const struct image_store *store, const char *digest,
                        struct hutch_error *err)
{
    hutch_cleanup(image_done) struct image image = IMAGE_INIT;
    struct names_of names = {.digest = digest, .store = store, .err = err};
    int r = store_references(store, remove_if_its, &names, err);
    if (r >= 0)
        r = names.status;
    if (r >= 0 && !names.count)
        r = image_find_digest(store, digest, &image, err);
    return r;
}

/* The digest it had; empty when the name itself was damaged. */
static int remove_name(const struct image_store *store, const char *text,
                       char ret_digest[IMAGE_DIGEST_BYTES], struct hutch_error *err)
{
    char path[STORE_REFERENCE_PATH_BYTES];
    struct image_reference reference;
    int r = resolve(store, text, &reference, ret_digest, err);
    if (r < 0)
        return r;
    if (ret_digest[0])
        return remove_names(store, ret_digest, err);
    store_reference_path(&reference, path);
    r = store_read_reference(store, path, ret_digest, err);
    if (r != -HUTCH_E_NOT_FOUND)
        return store_remove_reference(store, &reference, err);
    if (!reference.digest[0])
        return r;
    memcpy(ret_digest, reference.digest, IMAGE_DIGEST_BYTES);
    return remove_names(store, ret_digest, err);
}

/* ---- removing ---- */

/* What is used now, or by a sandbox at rest, stays; and so does everything while others add. Then
 * it goes with the next prune. */
static int remove_content(const struct image_store *store, const char *digest,
                          struct hutch_error *err)
{
    struct store_pruned pruned;
    struct store_prune_options options = {
        .add_pinned = home_images, .only = digest, .patience_ms = REMOVE_PATIENCE_MS};
    int r = store_prune(store, &options, &pruned, err);
    return r == -HUTCH_E_CONFLICT ? 0 : r;
}

int hutch_image_remove(const char *reference, struct hutch_error *err)
{
    hutch_cleanup(image_store_close) struct image_store store = {.dir = HUTCH_NO_FD};
    char digest[IMAGE_DIGEST_BYTES];
    OR_SCRATCH(err);
    int r = image_store_open(&store, false, err);
    if (r >= 0)
        r = remove_name(&store, reference, digest, err);
    if (r == -HUTCH_E_NOT_FOUND)
        return hutch_wrap(err, "image '%.150s': ", reference);
    return r < 0 || !digest[0] ? r : remove_content(&store, digest, err);
}

/* What builds keep for the next one, and what a killed one has left. */
static int prune_builds(const struct store_prune_options *options, struct store_pruned *pruned,
                        struct hutch_error *err)
{
    uint64_t bytes = 0;
    int r = build_place_prune(options->dry_run, &bytes, err);
    if (r < 0 || !bytes)
        return r;
    pruned->files++;
    pruned->bytes += bytes;
    if (options->on_item)
        options->on_item(options->context, "build cache", "build");
    return 0;
}

int hutch_image_prune(bool all, bool dry_run, hutch_image_pruned_fn on_item, void *userdata,
                      struct hutch_image_pruned *ret_pruned, struct hutch_error *err)
{
    hutch_cleanup(image_store_close) struct image_store store = {.dir = HUTCH_NO_FD};
    struct store_pruned pruned = {0};
    struct store_prune_options options = {.add_pinned = home_images,
                                          .takes_names = all,
                                          .patience_ms = PRUNE_PATIENCE_MS,
                                          .dry_run = dry_run,
                                          .on_item = on_item,
                                          .context = userdata};
    OR_SCRATCH(err);
    int r = image_store_open(&store, false, err);
    if (r >= 0)
        r = store_prune(&store, &options, &pruned, err);
    if (r >= 0)
        r = prune_builds(&options, &pruned, err);
    if (r >= 0 && ret_pruned)
        *ret_pruned = (struct hutch_image_pruned){.items = pruned.files, .bytes = pruned.bytes};
    return r;
}
