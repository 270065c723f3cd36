/* SPDX-License-Identifier: Apache-2.0 */
/* A directory's names in the order of their bytes, so that the same tree gives the same archive.
 * They are all read at once, and kept as long as the walk is at the directory or beneath it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image/layer_pack.h"

struct tar_list {
    size_t next;
    size_t count;
    char *names[]; /* and behind them what they point to */
};

static int compare(const void *one, const void *other)
{
    return strcmp(*(char *const *)one, *(char *const *)other);
}

/* All names, each ended by NUL. Returns 0, or -1 with errno. */
static int read_names(DIR *directory, struct tar_text *names, size_t *ret_count)
{
    const struct dirent *entry;
    while (errno = 0, (entry = readdir(directory))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (tar_text_append(names, entry->d_name, strlen(entry->d_name) + 1) < 0)
            return -1;
        ++*ret_count;
    }
    return errno ? -1 : 0;
}

static struct tar_list *make_list(const struct tar_text *names, size_t count)
{
    struct tar_list *list = malloc(sizeof(*list) + count * sizeof(*list->names) + names->length);
    if (!list)
        return NULL;
    char *at = (char *)(list->names + count);
    *list = (struct tar_list){.count = count};
    if (count)
        memcpy(at, names->data, names->length);
    for (size_t i = 0; i < count; i++, at += strlen(at) + 1)
        list->names[i] = at;
    if (count)
        qsort(list->names, count, sizeof(*list->names), compare);
    return list;
}

static int list_new(struct tar_level *level)
{
    struct tar_text names = {0};
    size_t count = 0;
    int fd = openat(level->fd, ".", TAR_OPEN_DIRECTORY);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    int status = directory ? read_names(directory, &names, &count) : -1;
    int saved = errno;
    if (directory)
        (void)closedir(directory);
    else if (fd >= 0)
        (void)close(fd);
    errno = saved;
    level->list = status < 0 ? NULL : make_list(&names, count);
    level->keeps_list = true;
    saved = errno;
    tar_text_done(&names);
    errno = saved;
    return level->list ? 0 : -1;
}

int layer_next_name(struct tar_level *level, const char **ret_name)
{
    if (!level->list && list_new(level) < 0)
        return -1;
    if (level->list->next == level->list->count)
        return 0;
    *ret_name = level->list->names[level->list->next++];
    return 1;
}
