/* SPDX-License-Identifier: Apache-2.0 */
#include "util/remove_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/own.h"

/* Each level costs a descriptor and a stack frame, and a hostile tree has as many levels as inodes.
 * What lies deeper than this is moved up beside the top and removed from there. */
#define DEEPEST_LEVEL 32

struct removal {
    int top;
    unsigned long moved;
};

/* An ordinary user's own directory may deny its owner: what is to go is opened all the same. Only a
 * directory can fail with EACCES here, so the change of mode follows no link. */
static int open_directory(int parent, const char *name)
{
    int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(parent, name, flags);
    if (fd < 0 && errno == EACCES && fchmodat(parent, name, 0700, 0) == 0)
        fd = openat(parent, name, flags);
    return fd;
}

/* As unlinkat, also where the directory that it is in denies its owner to write. */
static int remove_name(int parent, const char *name, int flags)
{
    if (unlinkat(parent, name, flags) == 0)
        return 0;
    if (errno != EACCES || fchmod(parent, 0700) < 0)
        return -1;
    return unlinkat(parent, name, flags);
}

static int empty_directory(struct removal *removal, int fd, unsigned level);

/* The new name may replace an empty directory: everything here is to go. */
static int move_up(struct removal *removal, int parent, const char *name)
{
    char target[32];
    bool may_write = false; /* a directory that moves is written to itself: its ".." changes */
    for (;;) {
        (void)snprintf(target, sizeof(target), "deep-%lu", removal->moved++);
        if (renameat(parent, name, removal->top, target) == 0)
            return 0;
        if (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR)
            continue;
        if (errno != EACCES || may_write)
            return -1;
        may_write = true;
        if (fchmod(parent, 0700) < 0 || fchmod(removal->top, 0700) < 0 ||
            fchmodat(parent, name, 0700, 0) < 0)
            return -1;
    }
}

static int remove_directory(struct removal *removal, int parent, const char *name, unsigned level)
{
    if (remove_name(parent, name, AT_REMOVEDIR) == 0)
        return 0;
    if (errno != ENOTEMPTY && errno != EEXIST)
        return -1;
    if (level == DEEPEST_LEVEL)
        return move_up(removal, parent, name);
    int fd = open_directory(parent, name);
    if (fd < 0 || empty_directory(removal, fd, level + 1) < 0)
        return -1;
    return remove_name(parent, name, AT_REMOVEDIR);
}

static int remove_entry(struct removal *removal, int parent, const struct dirent *entry,
                        unsigned level)
{
    if (entry->d_type != DT_DIR && remove_name(parent, entry->d_name, 0) == 0)
        return 0;
    if (entry->d_type != DT_DIR && errno != EISDIR)
        return -1;
    return remove_directory(removal, parent, entry->d_name, level);
}

/* Takes fd over. */
static int empty_directory(struct removal *removal, int fd, unsigned level)
{
    DIR *directory = fdopendir(fd);
    struct dirent *entry;
    int status = 0;
    if (!directory) {
        hutch_fd_close(&fd);
        return -1;
    }
    while (status == 0 && (entry = readdir(directory)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            status = remove_entry(removal, fd, entry, level);
    int saved = errno;
    (void)closedir(directory);
    errno = saved;
    return status;
}

int remove_tree(int parent, const char *name)
{
    if (unlinkat(parent, name, AT_REMOVEDIR) == 0)
        return 0;
    hutch_autofd int top = open_directory(parent, name);
    if (top < 0)
        return -1;
    struct removal removal = {.top = top};
    unsigned long moved;
    do {
        moved = removal.moved;
        /* a descriptor of its own: reading a directory again needs a new position */
        int fd = open_directory(parent, name);
        if (fd < 0 || empty_directory(&removal, fd, 1) < 0)
            return -1;
    } while (removal.moved != moved);
    return unlinkat(parent, name, AT_REMOVEDIR);
}
