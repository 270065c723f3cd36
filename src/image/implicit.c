/* SPDX-License-Identifier: Apache-2.0 */
/* First everything is moved to where it belongs, then attributes are taken over: a move changes the
 * times of the directories it touches. Paths in the layer are walked by descriptor and never
 * through a link; those below are resolved by open_file.c, which never leaves the image. */
#include "image/implicit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/hash.h"
#include "image/implicit_move.h"
#include "util/own.h"

/* Whoever made the layers has chosen how much there is to do here. An honest image has a handful of
 * such links; every path of a layer is held against all of them. */
#define MOST_MOVES 1000
/* Directories opened below, for all paths of a layer together: a minute or two. */
#define MOST_OPENED 20000000

struct settling {
    const struct image_store *store;
    struct image below; /* as if the layers beneath were an image of their own */
    int dir;
    struct hutch_strlist from;  /* directories that moved, */
    struct hutch_strlist to;    /* and where to; both without a slash at the front */
    struct hutch_strlist adopt; /* what takes its attributes from below */
    struct name_set merged;     /* was at the target before something moved into it */
    size_t opened;
    struct hutch_error *err;
};

int implicit_stack_key(const char *below, const char *diff_id, char ret_key[IMAGE_DIGEST_BYTES],
                       struct hutch_error *err)
{
    char text[2 * IMAGE_DIGEST_BYTES];
    int length = snprintf(text, sizeof(text), "%s %s", below, diff_id);
    return hash_of(text, (size_t)length, ret_key, err);
}

bool implicit_find(const struct image_store *store, const char *diff_id, const char *stack_key,
                   char ret_name[16])
{
    return store_find_layer(store, diff_id, ret_name) ||
           store_find_layer(store, stack_key, ret_name);
}

static void settling_done(struct settling *settling)
{
    image_done(&settling->below);
    hutch_strlist_done(&settling->from);
    hutch_strlist_done(&settling->to);
    hutch_strlist_done(&settling->adopt);
    name_set_done(&settling->merged);
}

/* Where a path of the layer is after the moves so far. */
static int place_now(const struct settling *settling, const char *path, char ret_path[PATH_MAX])
{
    int length = snprintf(ret_path, PATH_MAX, "%s", path);
    for (size_t i = 0; i < settling->from.count && length >= 0 && length < PATH_MAX; i++) {
        char before[PATH_MAX];
        size_t prefix = strlen(settling->from.items[i]);
        if (strncmp(ret_path, settling->from.items[i], prefix) != 0 ||
            (ret_path[prefix] && ret_path[prefix] != '/'))
            continue;
        memcpy(before, ret_path, sizeof(before));
        length = snprintf(ret_path, PATH_MAX, "%s%s", settling->to.items[i], before + prefix);
    }
    if (length < 0 || length >= PATH_MAX)
        return hutch_fail(settling->err, HUTCH_E_INVALID, ENAMETOOLONG,
                          "the name '%.100s...' is too long", path);
    return 0;
}

/* What the layers below have there: a directory's descriptor and its name without links, or
 * HUTCH_E_NOT_FOUND for everything else, which the layer hides as any file. */
static int open_below(struct settling *settling, const char *path, char ret_resolved[PATH_MAX])
{
    static const int leads_nowhere[] = {ENOENT, ENOTDIR, ELOOP, EMLINK, ENAMETOOLONG};
    struct hutch_error *err = settling->err;
    ret_resolved[0] = '\0';
    if (settling->opened > MOST_OPENED)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "its directories lead through too many links of the layers below");
    int fd = image_open_directory(settling->store, &settling->below, path, ret_resolved,
                                  &settling->opened, err);
    for (size_t i = 0; fd < 0 && i < HUTCH_COUNT(leads_nowhere); i++)
        if (err->os_errno == leads_nowhere[i])
            return -HUTCH_E_NOT_FOUND;
    return fd;
}

/* Every directory on the way to the target that the layer does not have is made, and is one more
 * that takes over what is below. */
static int make_target(struct settling *settling, const char *target)
{
    char path[PATH_MAX];
    size_t length = strlen(target);
    for (size_t end = 0; end < length; end++) {
        end += strcspn(target + end, "/");
        memcpy(path, target, end);
        path[end] = '\0';
        int r = implicit_make(settling->dir, path);
        if (r < 0)
            return hutch_fail_errno(settling->err, errno, "make '%.200s' in a layer", path);
        if (r > 0 && hutch_strlist_add(&settling->adopt, path, settling->err) < 0)
            return -(int)settling->err->code;
    }
    return 0;
}

/* Returns 0 also when the target is no directory in this layer: then what there is stays. */
static int move(struct settling *settling, const char *path, const char *target)
{
    if (!implicit_can_hold(settling->dir, target))
        return 0;
    if (settling->from.count == MOST_MOVES)
        return hutch_fail(settling->err, HUTCH_E_INVALID, 0,
                          "more than %d of its directories are links in the layers below",
                          MOST_MOVES);
    int r = make_target(settling, target);
    if (r >= 0)
        r = implicit_move(settling->dir, path, target, &settling->merged, settling->err);
    if (r >= 0)
        r = hutch_strlist_add(&settling->from, path, settling->err);
    return r < 0 ? r : hutch_strlist_add(&settling->to, target, settling->err);
}

/* A directory cannot move into itself: a link that leads to its own inside is as good as none. */
static bool lies_within(const char *path, const char *top)
{
    size_t length = strlen(top);
    return !strncmp(path, top, length) && (!path[length] || path[length] == '/');
}

static int settle_one(struct settling *settling, const char *implicit)
{
    char path[PATH_MAX], resolved[PATH_MAX];
    int r = place_now(settling, implicit, path);
    if (r < 0)
        return r;
    bool has_moved = strcmp(path, implicit) != 0;
    if (has_moved && name_set_has(&settling->merged, path))
        return 0; /* it speaks for itself */
    hutch_autofd int fd = open_below(settling, path, resolved);
    if (fd == -HUTCH_E_NOT_FOUND)
        return 0;
    if (fd < 0)
        return fd;
    const char *target = resolved + (resolved[0] == '/');
    if (!strcmp(target, path))
        return hutch_strlist_add(&settling->adopt, path, settling->err);
    if (!*target || lies_within(target, path) || lies_within(path, target))
        return 0;
    return move(settling, path, target);
}

static int adopt(struct settling *settling, const char *path)
{
    char resolved[PATH_MAX];
    struct stat info;
    hutch_autofd int source = open_below(settling, path, resolved);
    if (source == -HUTCH_E_NOT_FOUND)
        return 0;
    if (source < 0)
        return source;
    hutch_autofd int target = implicit_open(settling->dir, path);
    if (target < 0 || fstat(source, &info) < 0)
        return hutch_fail_errno(settling->err, errno, "open '%.200s' in a layer", path);
    const struct timespec times[2] = {info.st_atim, info.st_mtim};
    if ((geteuid() == 0 && fchown(target, info.st_uid, info.st_gid) < 0) ||
        fchmod(target, info.st_mode & 07777) < 0 || futimens(target, times) < 0)
        return hutch_fail_errno(settling->err, errno, "give '%.200s' its mode and owner", path);
    return 0;
}

static int settle_all(struct settling *settling, const struct layer_result *result,
                      const struct hutch_strlist *below)
{
    int r = 0;
    for (size_t i = below->count; r >= 0 && i > 0; i--)
        r = hutch_strlist_add(&settling->below.layers, below->items[i - 1], settling->err);
    for (size_t i = 0; r >= 0 && i < result->implicit_dirs.count; i++)
        r = settle_one(settling, result->implicit_dirs.items[i]);
    for (size_t i = 0; r >= 0 && i < settling->adopt.count; i++)
        r = adopt(settling, settling->adopt.items[i]);
    return r;
}

int implicit_settle(const struct image_store *store, int dir, const struct layer_result *result,
                    const struct hutch_strlist *below, const char *stack_key,
                    char ret_key[IMAGE_DIGEST_BYTES], struct hutch_error *err)
{
    bool is_whole = !result->implicit_dirs.count;
    if (!is_whole && below->count) {
        hutch_cleanup(settling_done) struct settling settling = {
            .store = store, .below = IMAGE_INIT, .dir = dir, .err = err};
        int r = settle_all(&settling, result, below);
        if (r < 0)
            return r;
    }
    memcpy(ret_key, is_whole ? result->diff_id : stack_key, IMAGE_DIGEST_BYTES);
    return 0;
}
