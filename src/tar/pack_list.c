/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a directory through getdents64 itself: readdir would hide the positions, from which a list
 * goes on after its directory was closed for being too far up. */
#include "tar/pack.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LIST_BYTES (16u << 10)

/* linux/dirent.h has no user header. */
struct linux_dirent {
    uint64_t ino;
    int64_t position; /* of the entry after this one */
    uint16_t length;
    uint8_t type;
    char name[];
};

struct tar_list {
    size_t at;
    size_t end;
    _Alignas(struct linux_dirent) char entries[LIST_BYTES];
};

static int list_new(struct tar_level *level)
{
    level->list = malloc(sizeof(*level->list));
    if (!level->list)
        return -1;
    level->list->at = level->list->end = 0;
    return level->position && lseek(level->fd, level->position, SEEK_SET) < 0 ? -1 : 0;
}

static int list_fill(struct tar_level *level)
{
    struct tar_list *list = level->list;
    long got = syscall(SYS_getdents64, level->fd, list->entries, sizeof(list->entries));
    if (got < 0)
        return -1;
    list->at = 0;
    list->end = (size_t)got;
    return got > 0;
}

int pack_list_next(struct tar_level *level, const char **ret_name)
{
    if (!level->list && list_new(level) < 0)
        return -1;
    for (;;) {
        int more = level->list->at < level->list->end ? 1 : list_fill(level);
        if (more <= 0)
            return more;
        const char *bytes = level->list->entries + level->list->at;
        const struct linux_dirent *entry = (const void *)bytes;
        level->list->at += entry->length;
        level->position = entry->position;
        if (strcmp(entry->name, ".") == 0 || strcmp(entry->name, "..") == 0)
            continue;
        *ret_name = entry->name;
        return 1;
    }
}
