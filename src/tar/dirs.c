/* SPDX-License-Identifier: Apache-2.0 */
#include "tar/dirs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define OPEN_LEVELS 32

static void level_forget(struct tar_level *level)
{
    free(level->list);
    level->list = NULL;
}

static void level_close(struct tar_level *level)
{
    if (level->fd >= 0)
        (void)close(level->fd);
    level->fd = -1;
    if (!level->keeps_list)
        level_forget(level);
}

static int make_room(struct tar_dirs *dirs)
{
    if (dirs->depth < dirs->capacity)
        return 0;
    size_t capacity = dirs->capacity ? dirs->capacity * 2 : 16;
    struct tar_level *levels = realloc(dirs->levels, capacity * sizeof(*levels));
    if (!levels)
        return -1;
    dirs->levels = levels;
    dirs->capacity = capacity;
    return 0;
}

int tar_dirs_push(struct tar_dirs *dirs, int fd, const struct stat *info)
{
    if (make_room(dirs) < 0) {
        (void)close(fd);
        errno = ENOMEM;
        return -1;
    }
    if (dirs->depth >= OPEN_LEVELS)
        level_close(&dirs->levels[dirs->depth - OPEN_LEVELS]);
    dirs->levels[dirs->depth++] = (struct tar_level){
        .fd = fd, .dev = info->st_dev, .ino = info->st_ino, .name_end = dirs->path.length};
    return 0;
}

int tar_dirs_wake_parent(struct tar_dirs *dirs)
{
    struct tar_level *parent = dirs->depth < 2 ? NULL : &dirs->levels[dirs->depth - 2];
    struct stat info;
    if (!parent || parent->fd >= 0)
        return 0;
    int fd = openat(tar_dirs_inner(dirs)->fd, "..", TAR_OPEN_DIRECTORY);
    if (fd < 0)
        return -1;
    if (fstat(fd, &info) < 0 || info.st_dev != parent->dev || info.st_ino != parent->ino) {
        (void)close(fd);
        errno = ESTALE;
        return -1;
    }
    parent->fd = fd;
    return 0;
}

void tar_dirs_pop(struct tar_dirs *dirs)
{
    level_close(tar_dirs_inner(dirs));
    level_forget(tar_dirs_inner(dirs));
    dirs->depth--;
    tar_text_cut(&dirs->path, dirs->depth ? tar_dirs_inner(dirs)->name_end : 0);
}

void tar_dirs_done(struct tar_dirs *dirs)
{
    while (dirs->depth)
        tar_dirs_pop(dirs);
    free(dirs->levels);
    tar_text_done(&dirs->path);
    *dirs = (struct tar_dirs){0};
}

int tar_dirs_name(struct tar_dirs *dirs, const char *name, size_t length)
{
    tar_text_cut(&dirs->path, dirs->depth ? tar_dirs_inner(dirs)->name_end : 0);
    if (dirs->path.length && tar_text_append(&dirs->path, "/", 1) < 0)
        return -1;
    return tar_text_append(&dirs->path, name, length);
}
