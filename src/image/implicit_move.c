/* SPDX-License-Identifier: Apache-2.0 */
#include "image/implicit_move.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/own.h"
#include "util/remove_tree.h"

#define OPEN_DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
/* Directories of the same names inside each other on both sides; each level costs descriptors. */
#define MOST_LEVELS 100

struct mover {
    struct name_set *merged;
    char path[PATH_MAX]; /* of the target, as far as the walk is */
    unsigned level;
    struct hutch_error *err;
};

int implicit_open(int dir, const char *path)
{
    struct open_how how = {
        .flags = OPEN_DIRECTORY,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
    };
    long fd;
    do /* EAGAIN: a rename elsewhere kept the kernel from proving that this is beneath */
        fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));
    while (fd < 0 && (errno == EAGAIN || errno == EINTR));
    return (int)fd;
}

bool implicit_can_hold(int dir, const char *path)
{
    char shorter[PATH_MAX];
    (void)snprintf(shorter, sizeof(shorter), "%s", path);
    for (;;) {
        hutch_autofd int fd = implicit_open(dir, shorter);
        if (fd >= 0 || errno != ENOENT)
            return fd >= 0;
        char *slash = strrchr(shorter, '/');
        if (!slash)
            return true;
        *slash = '\0';
    }
}

static int fail_move(const struct mover *mover, int os_errno)
{
    return hutch_fail_errno(mover->err, os_errno, "move files of a layer to '%.200s'", mover->path);
}

/* Whoever is not root can change a directory's content, and move it, only when it allows writing,
 * even its owner. What it was like comes back with leave_as_before. */
static int allow_writing(int dir, struct stat *ret_before)
{
    if (fstat(dir, ret_before) < 0)
        return -1;
    bool denies = geteuid() != 0 && (ret_before->st_mode & S_IRWXU) != S_IRWXU;
    return denies ? fchmod(dir, (ret_before->st_mode & 07777) | S_IRWXU) : 0;
}

static int leave_as_before(int dir, const struct stat *before)
{
    const struct timespec times[2] = {before->st_atim, before->st_mtim};
    bool denies = geteuid() != 0 && (before->st_mode & S_IRWXU) != S_IRWXU;
    return denies && fchmod(dir, before->st_mode & 07777) < 0 ? -1 : futimens(dir, times);
}

static int merge(struct mover *mover, int from, int to);

/* The name is taken: two directories become one, of all else the one that is there stays. */
static int merge_directory(struct mover *mover, int from, int to, const char *name)
{
    hutch_autofd int inner_from = openat(from, name, OPEN_DIRECTORY);
    hutch_autofd int inner_to = openat(to, name, OPEN_DIRECTORY);
    if (inner_from < 0 || inner_to < 0)
        return errno == ENOTDIR || errno == ELOOP ? 0 : fail_move(mover, errno);
    size_t length = strlen(mover->path);
    int added = snprintf(mover->path + length, sizeof(mover->path) - length, "/%s", name);
    if (added < 0 || (size_t)added >= sizeof(mover->path) - length || mover->level >= MOST_LEVELS) {
        mover->path[length] = '\0';
        return fail_move(mover, ENAMETOOLONG);
    }
    mover->level++;
    int r = name_set_add(mover->merged, mover->path, mover->err);
    if (r >= 0)
        r = merge(mover, inner_from, inner_to);
    mover->level--;
    mover->path[length] = '\0';
    return r;
}

/* A directory that denies writing to who moves it. Nothing but a directory can be the cause here.
 */
static int move_closed(int from, int to, const char *name)
{
    struct stat before;
    hutch_autofd int moved = openat(from, name, OPEN_DIRECTORY);
    if (moved < 0 || allow_writing(moved, &before) < 0)
        return -1;
    int r = renameat2(from, name, to, name, RENAME_NOREPLACE);
    int cause = errno;
    if (leave_as_before(moved, &before) < 0)
        return -1;
    errno = cause;
    return r;
}

static int move_entry(struct mover *mover, int from, int to, const char *name)
{
    if (!strcmp(name, ".") || !strcmp(name, ".."))
        return 0;
    int r = renameat2(from, name, to, name, RENAME_NOREPLACE);
    if (r < 0 && errno == EACCES)
        r = move_closed(from, to, name);
    if (r < 0)
        return errno == EEXIST ? merge_directory(mover, from, to, name) : fail_move(mover, errno);
    return 0;
}

static int merge(struct mover *mover, int from, int to)
{
    struct stat before, former; /* `from` goes when it is empty */
    int listed = fcntl(from, F_DUPFD_CLOEXEC, 0);
    DIR *list = listed < 0 ? NULL : fdopendir(listed);
    if (!list || allow_writing(to, &before) < 0 || allow_writing(from, &former) < 0) {
        int r = fail_move(mover, errno);
        if (list)
            (void)closedir(list);
        else if (listed >= 0)
            (void)close(listed);
        return r;
    }
    int r = 0;
    for (const struct dirent *entry; r >= 0 && (entry = readdir(list));)
        r = move_entry(mover, from, to, entry->d_name);
    (void)closedir(list);
    return r >= 0 && leave_as_before(to, &before) < 0 ? fail_move(mover, errno) : r;
}

/* The directory that holds the path's last component; the layer's own for a path of one. */
static int open_parent(int dir, const char *path, const char **ret_name)
{
    char parent[PATH_MAX] = ".";
    const char *slash = strrchr(path, '/');
    if (slash)
        (void)snprintf(parent, sizeof(parent), "%.*s", (int)(slash - path), path);
    *ret_name = slash ? slash + 1 : path;
    return implicit_open(dir, parent);
}

int implicit_make(int dir, const char *path)
{
    struct stat before;
    const char *name = NULL;
    hutch_autofd int parent = open_parent(dir, path, &name);
    if (parent < 0 || faccessat(parent, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return parent < 0 ? -1 : 0;
    if (allow_writing(parent, &before) < 0 || mkdirat(parent, name, 0755) < 0)
        return -1;
    return leave_as_before(parent, &before) < 0 ? -1 : 1;
}

int implicit_move(int dir, const char *from, const char *to, struct name_set *merged,
                  struct hutch_error *err)
{
    struct mover mover = {.merged = merged, .err = err};
    struct stat before;
    const char *name = NULL;
    (void)snprintf(mover.path, sizeof(mover.path), "%s", to);
    hutch_autofd int source = implicit_open(dir, from);
    hutch_autofd int target = implicit_open(dir, to);
    hutch_autofd int parent = open_parent(dir, from, &name);
    if (source < 0 || target < 0 || parent < 0)
        return fail_move(&mover, errno);
    int r = merge(&mover, source, target);
    if (r >= 0 && (allow_writing(parent, &before) < 0 || remove_tree(parent, name) < 0 ||
                   leave_as_before(parent, &before) < 0))
        return fail_move(&mover, errno);
    return r;
}
