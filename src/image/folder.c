/* SPDX-License-Identifier: Apache-2.0 */
#include "image/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "util/own.h"

#define DEEPEST_LEVEL 64

struct folder {
    struct hash *hash;
    unsigned level;
    struct hutch_error *err;
};

static int add_directory(struct folder *folder, int fd, const char *name);

/* Each entry begins with what it is, its mode and its name; what follows has a length or an end. So
 * two different directories never read the same. */
static void add_head(struct folder *folder, const char *kind, mode_t mode, const char *name)
{
    char head[32];
    int length = snprintf(head, sizeof(head), "%s %04o ", kind, (unsigned)(mode & 07777));
    hash_add(folder->hash, head, (size_t)length);
    hash_add(folder->hash, name, strlen(name) + 1);
}

/* The content, and then its length: a file may grow while it is read. */
static int add_content(struct folder *folder, int fd, const char *name)
{
    char bytes[32768];
    char end[32];
    unsigned long long total = 0;
    for (;;) {
        ssize_t got = read(fd, bytes, sizeof(bytes));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return hutch_fail_errno(folder->err, errno, "read '%.200s'", name);
        if (got == 0)
            break;
        hash_add(folder->hash, bytes, (size_t)got);
        total += (unsigned long long)got;
    }
    int length = snprintf(end, sizeof(end), "\n%llu\n", total);
    hash_add(folder->hash, end, (size_t)length);
    return 0;
}

static int add_link(struct folder *folder, int dir, const char *name)
{
    char target[PATH_MAX];
    ssize_t length = readlinkat(dir, name, target, sizeof(target) - 1);
    if (length < 0)
        return hutch_fail_errno(folder->err, errno, "read the link '%.200s'", name);
    target[length] = '\0';
    hash_add(folder->hash, target, (size_t)length + 1);
    return 0;
}

static int add_entry(struct folder *folder, int dir, const char *name)
{
    struct stat info;
    if (fstatat(dir, name, &info, AT_SYMLINK_NOFOLLOW) < 0)
        return hutch_fail_errno(folder->err, errno, "look at '%.200s'", name);
    if (S_ISLNK(info.st_mode)) {
        add_head(folder, "link", 0, name);
        return add_link(folder, dir, name);
    }
    if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))
        return hutch_fail(folder->err, HUTCH_E_INVALID, 0,
                          "'%.200s' is neither a file, a directory nor a link", name);
    /* not to wait for a writer, should it have become a pipe meanwhile */
    hutch_autofd int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return hutch_fail_errno(folder->err, errno, "open '%.200s'", name);
    if (S_ISDIR(info.st_mode)) {
        add_head(folder, "directory", info.st_mode, name);
        return add_directory(folder, fd, name);
    }
    add_head(folder, "file", info.st_mode, name);
    return add_content(folder, fd, name);
}

/* By bytes: the order of the locale is another one for somebody else. */
static int compare_names(const struct dirent **first, const struct dirent **second)
{
    return strcmp((*first)->d_name, (*second)->d_name);
}

static int is_entry(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static int add_directory(struct folder *folder, int fd, const char *name)
{
    struct dirent **entries = NULL;
    int r = 0;
    if (folder->level == DEEPEST_LEVEL)
        return hutch_fail(folder->err, HUTCH_E_INVALID, 0,
                          "'%.200s' is more than %d directories deep", name, DEEPEST_LEVEL);
    int count = scandirat(fd, ".", &entries, is_entry, compare_names);
    if (count < 0)
        return hutch_fail_errno(folder->err, errno, "list '%.200s'", name);
    folder->level++;
    for (int i = 0; i < count; i++) {
        if (r >= 0)
            r = add_entry(folder, fd, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    folder->level--;
    hash_add(folder->hash, "end\n", 4);
    return r;
}

int folder_digest(const char *path, const char *const *words, char ret_digest[IMAGE_DIGEST_BYTES],
                  struct hutch_error *err)
{
    hutch_autofd int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return hutch_fail_errno(err, errno, "open '%.200s'", path);
    struct folder folder = {.hash = hash_new(), .err = err};
    int r = add_directory(&folder, fd, path);
    for (; words && *words; words++)
        add_head(&folder, "word", 0, *words);
    if (r < 0) {
        hash_free(folder.hash);
        return hutch_wrap(err, "%.200s: ", path);
    }
    return hash_finish(folder.hash, ret_digest, err);
}
