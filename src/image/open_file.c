/* SPDX-License-Identifier: Apache-2.0 */
/* A file of an image, without mounting it. A directory of the image is the same directory in
 * several layers, so it is held as a list of descriptors, the topmost first; a step looks for one
 * name in each of them. Every step is one name without a slash, opened beneath a descriptor and
 * never through a link: links are read and resolved here, from the image's root. So nothing outside
 * the layers can be reached, whatever they hold. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "image/store.h"
#include "util/own.h"

#define MOST_LINKS 40 /* as the kernel */
/* One walk opens no more directories than this: links full of ".." would have it climb for hours.
 * It is several times what the longest path in the tallest stack needs. */
#define MOST_OPENED 100000

struct merged {
    int *fds;
    size_t count;
};

/* What a name means in a merged directory. */
struct found {
    struct stat info;
    int dir; /* borrowed: the directory of the layer that decides; negative: no such name */
};

struct walk {
    const struct image_store *store;
    const struct image *image;
    struct merged here;
    char resolved[PATH_MAX]; /* of `here`, without links: "/etc/alternatives", the root is "" */
    char pending[PATH_MAX];
    unsigned links;
    size_t opened;
    bool wants_directory; /* all else is as good as nothing, and is not opened */
    struct hutch_error *err;
};

static void merged_done(struct merged *merged)
{
    for (size_t i = 0; i < merged->count; i++)
        hutch_fd_close(&merged->fds[i]);
    free(merged->fds);
    *merged = (struct merged){0};
}

static void walk_done(struct walk *walk)
{
    merged_done(&walk->here);
}

static bool is_whiteout(const struct stat *info)
{
    return S_ISCHR(info->st_mode) && info->st_rdev == 0;
}

static bool is_opaque(int dir)
{
    char value;
    return fgetxattr(dir, "user.overlay.opaque", &value, 1) == 1 && value == 'y';
}

static int fail_walk(const struct walk *walk, int os_errno)
{
    return hutch_fail_errno(walk->err, os_errno, "look into the image's layers");
}

static int fail_missing(const struct walk *walk, int os_errno)
{
    return hutch_fail(walk->err, HUTCH_E_NOT_FOUND, os_errno, "it is not in the image");
}

/* Adds the directory `name` of a layer. Returns 1 when nothing below it counts, -1 with errno. */
static int add_directory(struct walk *walk, struct merged *merged, int parent, const char *name)
{
    if (++walk->opened > MOST_OPENED) {
        errno = EMLINK;
        return -1;
    }
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    merged->fds[merged->count++] = fd;
    return is_opaque(fd);
}

static int open_root(struct walk *walk)
{
    const struct hutch_strlist *layers = &walk->image->layers;
    hutch_autofd int dir = image_open_layers(walk->store, walk->err);
    if (dir < 0)
        return dir;
    merged_done(&walk->here);
    walk->resolved[0] = '\0';
    walk->here.fds = reallocarray(NULL, layers->count + 1, sizeof(int));
    if (!walk->here.fds)
        return hutch_fail_nomem(walk->err);
    int r = 0;
    for (size_t i = 0; r == 0 && i < layers->count; i++)
        r = add_directory(walk, &walk->here, dir, layers->items[i]);
    return r < 0 ? fail_walk(walk, errno) : 0;
}

/* The topmost layer that has the name decides what it is. */
static int look_up(const struct walk *walk, const char *name, struct found *ret_found)
{
    const struct merged *here = &walk->here;
    ret_found->dir = HUTCH_NO_FD;
    for (size_t i = 0; i < here->count; i++) {
        if (fstatat(here->fds[i], name, &ret_found->info, AT_SYMLINK_NOFOLLOW) == 0) {
            if (!is_whiteout(&ret_found->info))
                ret_found->dir = here->fds[i];
            return 0;
        }
        if (errno != ENOENT)
            return fail_walk(walk, errno);
    }
    return 0;
}

/* The directory of this name: in every layer down to the first that says that it is opaque, or that
 * the name is something else or nothing there. */
static int enter(struct walk *walk, const char *name)
{
    hutch_cleanup(merged_done) struct merged next = {0};
    next.fds = reallocarray(NULL, walk->here.count + 1, sizeof(int));
    if (!next.fds)
        return hutch_fail_nomem(walk->err);
    for (size_t i = 0; i < walk->here.count; i++) {
        int r = add_directory(walk, &next, walk->here.fds[i], name);
        if (r > 0 || (r < 0 && (errno == ENOTDIR || errno == ELOOP)))
            break;
        if (r < 0 && errno != ENOENT)
            return fail_walk(walk, errno);
    }
    size_t length = strlen(walk->resolved);
    int added = snprintf(walk->resolved + length, sizeof(walk->resolved) - length, "/%s", name);
    if (added < 0 || (size_t)added >= sizeof(walk->resolved) - length)
        return fail_walk(walk, ENAMETOOLONG);
    merged_done(&walk->here);
    walk->here = next;
    next = (struct merged){0};
    return 0;
}

/* Puts text before what is pending, which is empty or begins with a slash. */
static int prepend(struct walk *walk, const char *text)
{
    char joined[PATH_MAX];
    int length = snprintf(joined, sizeof(joined), "%s%s", text, walk->pending);
    if (length < 0 || (size_t)length >= sizeof(joined))
        return fail_walk(walk, ENAMETOOLONG);
    memcpy(walk->pending, joined, (size_t)length + 1);
    return 0;
}

/* From the root again, down to what `resolved` says without its last name. */
static int go_up(struct walk *walk)
{
    char path[PATH_MAX];
    char *slash = strrchr(walk->resolved, '/');
    if (slash)
        *slash = '\0';
    memcpy(path, walk->resolved, sizeof(path));
    int r = open_root(walk);
    char *rest = path;
    for (char *name; r >= 0 && (name = strsep(&rest, "/"));)
        if (*name)
            r = enter(walk, name);
    return r;
}

static int follow_link(struct walk *walk, int dir, const char *name)
{
    char target[PATH_MAX];
    if (++walk->links > MOST_LINKS)
        return fail_walk(walk, ELOOP);
    ssize_t length = readlinkat(dir, name, target, sizeof(target) - 1);
    if (length < 0)
        return fail_walk(walk, errno);
    target[length] = '\0';
    int r = prepend(walk, target);
    return r >= 0 && target[0] == '/' ? open_root(walk) : r;
}

static int open_regular(const struct walk *walk, const struct found *found, const char *name)
{
    struct stat info;
    if (!S_ISREG(found->info.st_mode))
        return hutch_fail(walk->err, HUTCH_E_INVALID, 0, "it is no regular file in the image");
    hutch_autofd int fd =
        openat(found->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) < 0)
        return fail_walk(walk, errno);
    if (!S_ISREG(info.st_mode))
        return fail_walk(walk, ESTALE);
    return HUTCH_TAKE_FD(fd);
}

/* Takes one name off what is pending. Its copy is valid until the next one; NULL at the end. */
static char *next_name(struct walk *walk, char name[PATH_MAX])
{
    char *start = walk->pending + strspn(walk->pending, "/");
    size_t length = strcspn(start, "/");
    if (!length)
        return NULL;
    memcpy(name, start, length);
    name[length] = '\0';
    memmove(walk->pending, start + length, strlen(start + length) + 1);
    return name;
}

/* A descriptor when the name is the file, 0 when the walk goes on. */
static int step(struct walk *walk, const char *name, bool *ret_is_file)
{
    struct found found;
    if (!strcmp(name, "."))
        return 0;
    if (!strcmp(name, ".."))
        return go_up(walk);
    int r = look_up(walk, name, &found);
    if (r < 0)
        return r;
    if (found.dir < 0)
        return fail_missing(walk, ENOENT);
    if (S_ISLNK(found.info.st_mode))
        return follow_link(walk, found.dir, name);
    if (S_ISDIR(found.info.st_mode))
        return enter(walk, name);
    if (walk->pending[0] || walk->wants_directory)
        return fail_missing(walk, ENOTDIR);
    *ret_is_file = true;
    return open_regular(walk, &found, name);
}

/* Walks to the end of the path, or to the first thing that is no directory: its descriptor in
 * *ret_file when it is a regular file, negative when the walk ended in a directory. */
static int walk_path(struct walk *walk, const char *path, int *ret_file)
{
    char name[PATH_MAX];
    *ret_file = HUTCH_NO_FD;
    if (strlen(path) >= sizeof(walk->pending))
        return hutch_fail(walk->err, HUTCH_E_INVALID, ENAMETOOLONG,
                          "the name '%.100s...' is too long", path);
    memcpy(walk->pending, path, strlen(path) + 1);
    int r = open_root(walk);
    while (r >= 0 && next_name(walk, name)) {
        bool is_file = false;
        r = step(walk, name, &is_file);
        if (r >= 0 && is_file) {
            *ret_file = r;
            return 0;
        }
    }
    return r < 0 ? r : 0;
}

int image_open_file(const struct image_store *store, const struct image *image, const char *path,
                    struct hutch_error *err)
{
    hutch_cleanup(walk_done) struct walk walk = {.store = store, .image = image, .err = err};
    int fd = HUTCH_NO_FD;
    int r = walk_path(&walk, path, &fd);
    if (r >= 0 && fd < 0)
        r = hutch_fail(err, HUTCH_E_INVALID, EISDIR, "it is a directory in the image");
    if (r >= 0)
        return fd;
    hutch_wrap(err, "'%.100s': ", path);
    return r;
}

int image_open_directory(const struct image_store *store, const struct image *image,
                         const char *path, char ret_resolved[PATH_MAX], size_t *opened,
                         struct hutch_error *err)
{
    hutch_cleanup(walk_done) struct walk walk = {
        .store = store, .image = image, .wants_directory = true, .err = err};
    int fd = HUTCH_NO_FD;
    int r = walk_path(&walk, path, &fd);
    *opened += walk.opened;
    if (r >= 0 && walk.here.count) {
        memcpy(ret_resolved, walk.resolved, sizeof(walk.resolved));
        return HUTCH_TAKE_FD(walk.here.fds[0]);
    }
    if (r >= 0)
        r = hutch_fail(err, HUTCH_E_NOT_FOUND, ENOTDIR, "it is no directory in the image");
    hutch_wrap(err, "'%.100s': ", path);
    return r;
}
