/* SPDX-License-Identifier: Apache-2.0 */
/* Removing what nobody needs.
 *
 * Under the store's lock, while nobody adds: names that lead nowhere, records, keys of layers, and
 * then what they named, each moved below tmp/ or unlinked. What names something is gone from the
 * disk before the thing is. Then the lock is free again, and what takes time, the trees below tmp/,
 * goes beside those who add; whatever crash comes, it has no name any more. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "image/prune_live.h"
#include "image/record.h"
#include "image/settle.h"
#include "image/store_add.h"
#include "image/store_files.h"
#include "image/store_work.h"
#include "image/tree_sum.h"
#include "util/fs.h"
#include "util/own.h"
#include "util/remove_tree.h"

#define PATH_BYTES (NAME_MAX + 16)
#define LOOK_AGAIN_MS 20

struct prune {
    const struct image_store *store;
    struct live live;
    struct hutch_strlist trees; /* below tmp/, to be removed last */
    const struct store_prune_options *options;
    struct store_pruned pruned;
    struct hutch_error *err;
};

static void prune_done(struct prune *prune)
{
    live_done(&prune->live);
    hutch_strlist_done(&prune->trees);
}

/* One that waits and gives up, which the kernel's lock cannot. */
static int lock_patiently(int fd, off_t byte, unsigned *patience_ms, struct hutch_error *err)
{
    const struct timespec pause = {.tv_nsec = LOOK_AGAIN_MS * 1000000L};
    while (store_lock(fd, F_WRLCK, byte, false) < 0) {
        if (errno != EAGAIN && errno != EACCES)
            return hutch_fail_errno(err, errno, "lock the image store");
        if (*patience_ms < LOOK_AGAIN_MS)
            return hutch_fail(err, HUTCH_E_CONFLICT, EAGAIN,
                              "somebody is adding or removing images at this moment; try again "
                              "when that is over");
        (void)nanosleep(&pause, NULL);
        *patience_ms -= LOOK_AGAIN_MS;
    }
    return 0;
}

static void tell(struct prune *prune, const char *kind, const char *name, uint64_t bytes)
{
    prune->pruned.files++;
    prune->pruned.bytes += bytes;
    if (prune->options->on_item)
        prune->options->on_item(prune->options->context, kind, name);
}

static int fail_remove(const struct prune *prune, const char *path)
{
    return hutch_fail_errno(prune->err, errno, "remove 'images/%.200s'", path);
}

static uint64_t file_bytes(const struct prune *prune, const char *path)
{
    struct stat info;
    return fstatat(prune->store->dir, path, &info, AT_SYMLINK_NOFOLLOW) == 0
               ? (uint64_t)info.st_blocks * 512
               : 0;
}

static int drop_file(struct prune *prune, const char *kind, const char *path)
{
    uint64_t bytes = file_bytes(prune, path);
    if (!prune->options->dry_run && unlinkat(prune->store->dir, path, 0) < 0 && errno != ENOENT)
        return fail_remove(prune, path);
    if (kind)
        tell(prune, kind, strrchr(path, '/') + 1, bytes);
    return 0;
}

/* Out of its place at once, out of the world later. */
static int drop_tree(struct prune *prune, const char *kind, const char *path)
{
    char work[STORE_WORK_BYTES];
    struct tree_sum sum = {0};
    if (tree_sum(prune->store->dir, path, &sum) < 0)
        return fail_remove(prune, path);
    int r = prune->options->dry_run ? 0 : store_work_path(work, prune->err);
    if (r >= 0 && !prune->options->dry_run) {
        /* an ordinary user may not move a directory that denies writing */
        if (fchmodat(prune->store->dir, path, 0700, 0) < 0 ||
            renameat(prune->store->dir, path, prune->store->dir, work) < 0)
            return fail_remove(prune, path);
        r = hutch_strlist_add(&prune->trees, work, prune->err);
    }
    if (r >= 0)
        tell(prune, kind, strrchr(path, '/') + 1, sum.disk_bytes);
    return r;
}

static int sync_directory(const struct prune *prune, const char *name)
{
    hutch_autofd int fd =
        openat(prune->store->dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (!prune->options->dry_run && fd >= 0 && fsync(fd) < 0)
        return hutch_fail_errno(prune->err, errno, "sync 'images/%s'", name);
    return 0;
}

/* Whoever has opened a record waits for its lock, and then sees that it has no name. */
static int drop_record(struct prune *prune, const char *path)
{
    hutch_autofd int fd =
        openat(prune->store->dir, path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno != ENOENT && errno != ELOOP && errno != EISDIR)
        return fail_remove(prune, path);
    if (fd >= 0 && store_lock(fd, F_WRLCK, 0, false) < 0) {
        /* Somebody has begun to use it since it was looked at: what it needs is not known. */
        prune->live.keeps_all_layers = prune->live.keeps_all_blobs = true;
        return 0;
    }
    return drop_file(prune, "image", path);
}

static int drop_records(struct prune *prune)
{
    const struct hutch_strlist *dead = &prune->live.dead_records;
    int r = 0;
    for (size_t i = 0; r >= 0 && i < dead->count; i++)
        r = drop_record(prune, dead->items[i]);
    return r < 0 ? r : sync_directory(prune, "images");
}

struct naming {
    struct prune *prune;
    int status;
};

/* Those of what is to go, and those that lead nowhere. */
static int drop_name(void *context, const struct image_reference *reference, const char *digest,
                     uint64_t changed_us)
{
    struct naming *naming = context;
    struct prune *prune = naming->prune;
    char path[STORE_PATH_BYTES], text[IMAGE_REFERENCE_BYTES];
    (void)changed_us;
    (void)snprintf(path, sizeof(path), "images/%s", IMAGE_DIGEST_HEX(digest));
    if (prune->options->only && strcmp(prune->options->only, digest) != 0)
        return 0;
    if (image_digest_is_valid(digest) &&
        faccessat(prune->store->dir, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
        !hutch_strlist_has(&prune->live.dead_records, path))
        return 0;
    image_reference_format(reference, text);
    if (!prune->options->dry_run)
        naming->status = store_remove_reference(prune->store, reference, prune->err);
    if (naming->status >= 0)
        tell(prune, "name", text, 0);
    return naming->status;
}

static int drop_names(struct prune *prune)
{
    struct naming naming = {.prune = prune};
    int r = store_references(prune->store, drop_name, &naming, prune->err);
    return r < 0 ? r : naming.status;
}

/* Whether nobody needs it. When only one image is to go, what it did not need is left alone. */
static bool is_free(const struct prune *prune, const struct hutch_strlist *needed,
                    const struct hutch_strlist *was_needed, const char *name)
{
    return !hutch_strlist_has(needed, name) &&
           (!prune->options->only || hutch_strlist_has(was_needed, name));
}

static bool is_free_layer(const struct prune *prune, const char *name)
{
    return is_free(prune, &prune->live.needs.layers, &prune->live.dead_needs.layers, name);
}

/* Keys first, so that no key ever leads to a number that was given again. */
static int drop_key(struct prune *prune, const char *hex)
{
    char path[PATH_BYTES], text[32];
    (void)snprintf(path, sizeof(path), "unpacked/%s", hex);
    if (hutch_read_at(prune->store->dir, path, text, sizeof(text)) < 0)
        text[0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return is_free_layer(prune, text) ? drop_file(prune, NULL, path) : 0;
}

static int drop_layer(struct prune *prune, const char *name)
{
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof(path), "layers/%s", name);
    return is_free_layer(prune, name) ? drop_tree(prune, "layer", path) : 0;
}

static int drop_blob(struct prune *prune, const char *hex)
{
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof(path), "blobs/%s", hex);
    return is_free(prune, &prune->live.needs.blobs, &prune->live.dead_needs.blobs, hex)
               ? drop_file(prune, "blob", path)
               : 0;
}

static int drop_partial(struct prune *prune, const char *hex)
{
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof(path), "partial/%s", hex);
    return drop_file(prune, "partial", path);
}

static int drop_work(struct prune *prune, const char *name)
{
    char path[PATH_BYTES];
    struct tree_sum sum = {0};
    (void)snprintf(path, sizeof(path), "tmp/%s", name);
    (void)tree_sum(prune->store->dir, path, &sum);
    tell(prune, "leftover", name, sum.disk_bytes);
    return prune->options->dry_run ? 0 : hutch_strlist_add(&prune->trees, path, prune->err);
}

enum content { LEFTOVERS, LAYERS, BLOBS };

/* Leftovers before layers, whose place they would share. */
static const struct {
    const char *directory;
    enum content content;
    int (*drop)(struct prune *prune, const char *name);
} passes[] = {
    {"tmp", LEFTOVERS, drop_work},  {"partial", LEFTOVERS, drop_partial},
    {"unpacked", LAYERS, drop_key}, {"layers", LAYERS, drop_layer},
    {"blobs", BLOBS, drop_blob},
};

static bool is_left_alone(const struct prune *prune, enum content content)
{
    const bool alone[] = {
        [LEFTOVERS] = prune->options->only != NULL,
        [LAYERS] = prune->live.keeps_all_layers,
        [BLOBS] = prune->live.keeps_all_blobs,
    };
    return alone[content];
}

static int take_names_away(struct prune *prune)
{
    int r = drop_names(prune);
    if (r >= 0)
        r = drop_records(prune);
    for (size_t pass = 0; r >= 0 && pass < HUTCH_COUNT(passes); pass++) {
        hutch_cleanup(hutch_strlist_done) struct hutch_strlist names = {0};
        if (is_left_alone(prune, passes[pass].content))
            continue;
        r = live_list(prune->store, passes[pass].directory, &names, prune->err);
        for (size_t i = 0; r >= 0 && i < names.count; i++)
            r = passes[pass].drop(prune, names.items[i]);
        if (r >= 0)
            r = sync_directory(prune, passes[pass].directory);
    }
    return r;
}

static int remove_trees(struct prune *prune)
{
    for (size_t i = 0; i < prune->trees.count; i++) {
        const char *path = prune->trees.items[i];
        if (unlinkat(prune->store->dir, path, 0) < 0 && errno != ENOENT &&
            remove_tree(prune->store->dir, path) < 0)
            return fail_remove(prune, path);
    }
    return 0;
}

int store_prune(const struct image_store *store, const struct store_prune_options *options,
                struct store_pruned *ret_pruned, struct hutch_error *err)
{
    hutch_cleanup(prune_done) struct prune prune = {.store = store, .options = options, .err = err};
    unsigned patience_ms = options->patience_ms;
    *ret_pruned = (struct store_pruned){0};
    if (store->dir < 0)
        return 0;
    hutch_autofd int lock = store_open_lock(store, err);
    int r = lock < 0 ? lock : lock_patiently(lock, STORE_LOCK_PRUNE, &patience_ms, err);
    if (r >= 0)
        r = lock_patiently(lock, STORE_LOCK_CONTENT, &patience_ms, err);
    if (r >= 0)
        r = settle_check(store, err);
    if (r >= 0)
        r = live_find(store, options, &prune.live, err);
    if (r >= 0)
        r = take_names_away(&prune);
    if (r >= 0 && store_lock(lock, F_UNLCK, STORE_LOCK_CONTENT, false) < 0)
        r = hutch_fail_errno(err, errno, "unlock the image store");
    if (r >= 0)
        r = remove_trees(&prune);
    if (r >= 0)
        *ret_pruned = prune.pruned;
    return r;
}
