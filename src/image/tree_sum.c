/* SPDX-License-Identifier: Apache-2.0 */
#include "image/tree_sum.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "util/own.h"

static int add_directory(int parent, const char *name, unsigned level, struct tree_sum *sum);

static int add_entry(int parent, const char *name, unsigned level, struct tree_sum *sum)
{
    struct stat info;
    if (fstatat(parent, name, &info, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    sum->entries++;
    if (S_ISREG(info.st_mode))
        sum->bytes += (uint64_t)info.st_size;
    sum->disk_bytes += (uint64_t)info.st_blocks * 512 /
                       (S_ISDIR(info.st_mode) || !info.st_nlink ? 1 : info.st_nlink);
    return S_ISDIR(info.st_mode) && level < TREE_SUM_LEVELS
               ? add_directory(parent, name, level + 1, sum)
               : 0;
}

/* A directory that denies its owner, who is an ordinary user, is not looked into. */
static int add_directory(int parent, const char *name, unsigned level, struct tree_sum *sum)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == EACCES ? 0 : -1;
    DIR *directory = fdopendir(fd);
    if (!directory) {
        hutch_fd_close(&fd);
        return -1;
    }
    int r = 0;
    for (struct dirent *entry; r == 0 && (entry = readdir(directory));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            r = add_entry(fd, entry->d_name, level, sum);
    int saved = errno;
    (void)closedir(directory);
    if (r < 0 && saved == EACCES) /* one that can be listed and not entered */
        r = 0;
    errno = saved;
    return r;
}

int tree_sum(int parent, const char *name, struct tree_sum *ret_sum)
{
    struct tree_sum sum = {0};
    if (add_entry(parent, name, 0, &sum) < 0)
        return -1;
    *ret_sum = sum;
    return 0;
}
