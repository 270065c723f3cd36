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
    struct hutch_strlist *merged;
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

static int keep_times(int dir, const struct stat *before)
{
    const struct timespec times[2] = {before->st_atim, before->st_mtim};
    return futimens(dir, times);
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
    int r = hutch_strlist_add(mover->merged, mover->path, mover->err);
    if (r >= 0)
        r = merge(mover, inner_from, inner_to);
    mover->level--;
    mover->path[length] = '\0';
    return r;
}

static int move_entry(struct mover *mover, int from, int to, const char *name)
{
    if (!strcmp(name, ".") || !strcmp(name, ".."))
        return 0;
    if (renameat2(from, name, to, name, RENAME_NOREPLACE) == 0)
        return 0;
    return errno == EEXIST ? merge_directory(mover, from, to, name) : fail_move(mover, errno);
}

static int merge(struct mover *mover, int from, int to)
{
    struct stat before;
    int listed = fcntl(from, F_DUPFD_CLOEXEC, 0);
    DIR *list = listed < 0 ? NULL : fdopendir(listed);
    if (!list || fstat(to, &before) < 0) {
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
    return r >= 0 && keep_times(to, &before) < 0 ? fail_move(mover, errno) : r;
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

int implicit_move(int dir, const char *from, const char *to, struct hutch_strlist *merged,
                  struct hutch_error *err)
{
    struct mover mover = {.merged = merged, .err = err};
    struct stat before;
    const char *name = NULL;
    (void)snprintf(mover.path, sizeof(mover.path), "%s", to);
    hutch_autofd int source = implicit_open(dir, from);
    hutch_autofd int target = implicit_open(dir, to);
    hutch_autofd int parent = open_parent(dir, from, &name);
    if (source < 0 || target < 0 || parent < 0 || fstat(parent, &before) < 0)
        return fail_move(&mover, errno);
    int r = merge(&mover, source, target);
    if (r >= 0 && (remove_tree(parent, name) < 0 || keep_times(parent, &before) < 0))
        return fail_move(&mover, errno);
    return r;
}
