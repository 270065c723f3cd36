/* SPDX-License-Identifier: Apache-2.0 */
#include "image/build_place.h"

#include <fcntl.h>
#include <fts.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "image/build_process.h"
#include "util/fs.h"
#include "util/own.h"
#include "util/remove_tree.h"
#include "util/state_dir.h"

/* What belongs to the build that is going on, and what outlives it. */
static const char *const passing[] = {"run", "tmp", "out"};
static const char *const drivers[] = {"overlay", "vfs"};

static int fail_at(const struct build_place *place, const char *what, struct hutch_error *err)
{
    return hutch_fail_errno(err, errno, "%s '%s'", what, place->path);
}

/* An overlay cannot have its upper layer on another one, as in many containers: there layers are
 * copied. */
static const char *choose_driver(int dir)
{
    struct statfs info;
    bool is_overlay = fstatfs(dir, &info) == 0 && info.f_type == OVERLAYFS_SUPER_MAGIC;
    return drivers[is_overlay];
}

static int open_place(struct build_place *place, bool make, struct hutch_error *err)
{
    char lib[400];
    int r = state_directory("lib", lib, sizeof(lib), err);
    if (r < 0)
        return r;
    (void)snprintf(place->path, sizeof(place->path), "%s/images/build", lib);
    if (make && hutch_mkdir_p(place->path, 0700) < 0)
        return fail_at(place, "make", err);
    place->dir = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (place->dir < 0)
        return make ? fail_at(place, "open", err) : 0;
    place->driver = choose_driver(place->dir);
    place->lock = openat(place->dir, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    return place->lock < 0 ? fail_at(place, "make a lock in", err) : 0;
}

static int take_turn(const struct build_place *place, void (*on_wait)(void *context), void *context,
                     struct hutch_error *err)
{
    if (flock(place->lock, LOCK_EX | LOCK_NB) == 0)
        return 0;
    on_wait(context);
    while (flock(place->lock, LOCK_EX) < 0)
        if (errno != EINTR)
            return fail_at(place, "lock", err);
    return 0;
}

/* Files that a build of an ordinary user made can belong to ids that only a namespace of buildah's
 * has. */
static int remove_by_buildah(const struct build_place *place, const char *name)
{
    hutch_autofree char *program = NULL;
    char path[600];
    int status = 1;
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    (void)snprintf(path, sizeof(path), "%s/%s", place->path, name);
    if (build_process_find("buildah", &program, &ignored) < 0)
        return -1;
    char *argv[] = {"buildah", "unshare", "rm", "-rf", "--", path, NULL};
    struct build_process process = {.program = program, .argv = argv, .envp = environ};
    if (build_process_run(&process, &status, &ignored) < 0 || status)
        return -1;
    return 0;
}

static int clear(const struct build_place *place, const char *const *names, size_t count,
                 struct hutch_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (remove_tree(place->dir, names[i]) == 0 || errno == ENOENT)
            continue;
        int os_errno = errno;
        if (geteuid() != 0 && remove_by_buildah(place, names[i]) == 0)
            continue;
        return hutch_fail_errno(err, os_errno, "remove '%s/%s'", place->path, names[i]);
    }
    return 0;
}

static int make_passing(struct build_place *place, struct hutch_error *err)
{
    place->was_killed = faccessat(place->dir, "unclean", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    int r = clear(place, passing, HUTCH_COUNT(passing), err);
    if (r < 0)
        return r;
    hutch_autofd int mark = openat(place->dir, "unclean", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (mark < 0)
        return fail_at(place, "write into", err);
    for (size_t i = 0; i < HUTCH_COUNT(passing); i++)
        if (mkdirat(place->dir, passing[i], 0700) < 0)
            return fail_at(place, "make a directory in", err);
    return 0;
}

int build_place_enter(struct build_place *ret_place, void (*on_wait)(void *context), void *context,
                      struct hutch_error *err)
{
    struct build_place place = BUILD_PLACE_INIT;
    int r = open_place(&place, true, err);
    if (r >= 0)
        r = take_turn(&place, on_wait, context, err);
    if (r >= 0)
        r = make_passing(&place, err);
    if (r < 0) {
        hutch_fd_close(&place.lock);
        hutch_fd_close(&place.dir);
        return r;
    }
    *ret_place = place;
    return 0;
}

void build_place_is_clean(struct build_place *place)
{
    place->was_killed = false;
}

void build_place_leave(struct build_place *place)
{
    if (place->dir >= 0 && clear(place, passing, HUTCH_COUNT(passing), NULL) == 0 &&
        !place->was_killed)
        (void)unlinkat(place->dir, "unclean", 0);
    hutch_fd_close(&place->lock);
    hutch_fd_close(&place->dir);
}

/* What lies below, as far as it can be seen. */
static uint64_t bytes_of(const struct build_place *place)
{
    char path[600];
    char *paths[] = {path, NULL};
    uint64_t bytes = 0;
    (void)snprintf(path, sizeof(path), "%s", place->path);
    FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    for (const FTSENT *entry; walk && (entry = fts_read(walk));)
        if (entry->fts_info == FTS_F && entry->fts_level > 0)
            bytes += (uint64_t)entry->fts_statp->st_blocks * 512;
    if (walk)
        (void)fts_close(walk);
    return bytes;
}

static int remove_all(const struct build_place *place, struct hutch_error *err)
{
    int r = clear(place, passing, HUTCH_COUNT(passing), err);
    if (r >= 0)
        r = clear(place, drivers, HUTCH_COUNT(drivers), err);
    if (r >= 0)
        (void)unlinkat(place->dir, "unclean", 0);
    return r;
}

int build_place_prune(bool dry_run, uint64_t *ret_bytes, struct hutch_error *err)
{
    struct build_place place = BUILD_PLACE_INIT;
    *ret_bytes = 0;
    int r = state_exists("lib") ? open_place(&place, false, err) : 0;
    if (r >= 0 && place.dir >= 0 && flock(place.lock, LOCK_EX | LOCK_NB) == 0) {
        *ret_bytes = bytes_of(&place);
        if (!dry_run)
            r = remove_all(&place, err);
    }
    hutch_fd_close(&place.lock);
    hutch_fd_close(&place.dir);
    return r;
}
