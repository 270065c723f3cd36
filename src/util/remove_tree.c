/* SPDX-License-Identifier: Apache-2.0 */
#include "util/remove_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "util/own.h"

/* Each level costs a descriptor and a stack frame, and a hostile tree has as many levels as inodes.
 * What lies deeper than this is moved up beside the top and removed from there. */
#define DEEPEST_LEVEL 32

struct removal {
    int top;
    unsigned long moved;
};

static int open_directory(int parent, const char *name)
{
    return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int empty_directory(struct removal *removal, int fd, unsigned level);

/* The new name may replace an empty directory: everything here is to go. */
static int move_up(struct removal *removal, int parent, const char *name)
{
    char target[32];
    for (;;) {
        (void)snprintf(target, sizeof(target), "deep-%lu", removal->moved++);
        if (renameat(parent, name, removal->top, target) == 0)
            return 0;
        if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR)
            return -1;
    }
}

static int remove_directory(struct removal *removal, int parent, const char *name, unsigned level)
{
    if (unlinkat(parent, name, AT_REMOVEDIR) == 0)
        return 0;
    if (errno != ENOTEMPTY && errno != EEXIST)
        return -1;
    if (level == DEEPEST_LEVEL)
        return move_up(removal, parent, name);
    int fd = open_directory(parent, name);
    if (fd < 0 || empty_directory(removal, fd, level + 1) < 0)
        return -1;
    return unlinkat(parent, name, AT_REMOVEDIR);
}

static int remove_entry(struct removal *removal, int parent, const struct dirent *entry,
                        unsigned level)
{
    if (entry->d_type != DT_DIR && unlinkat(parent, entry->d_name, 0) == 0)
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
