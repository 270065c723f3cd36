/* SPDX-License-Identifier: Apache-2.0 */
#include "store/compare.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/beneath.h"
#include "util/own.h"

#define CHUNK_BYTES (64u << 10)

/* As much as there is, up to a chunk. Returns the length, or -1 with errno. */
static ssize_t read_chunk(int fd, char *chunk)
{
    size_t length = 0;
    while (length < CHUNK_BYTES) {
        ssize_t got = read(fd, chunk + length, CHUNK_BYTES - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        length += (size_t)got;
    }
    return (ssize_t)length;
}

/* Returns 1 when they are equal, 0 when not, or -1 with errno. */
static int has_same_bytes(int one, int other)
{
    hutch_autofree char *chunks = malloc((size_t)2 * CHUNK_BYTES);
    if (!chunks)
        return -1;
    for (;;) {
        ssize_t length = read_chunk(one, chunks);
        ssize_t other_length = length < 0 ? -1 : read_chunk(other, chunks + CHUNK_BYTES);
        if (length < 0 || other_length < 0)
            return -1;
        if (length != other_length || memcmp(chunks, chunks + CHUNK_BYTES, (size_t)length) != 0)
            return 0;
        if (length == 0)
            return 1;
    }
}

static int has_same_content(const struct store_pair *pair)
{
    if (pair->upper.st_size != pair->lower.st_size)
        return 0;
    hutch_autofd int upper = store_open_file(pair->upper_dir, pair->name, NULL);
    if (upper < 0)
        return -1;
    hutch_autofd int lower = store_open_file(pair->lower_dir, pair->name, NULL);
    return lower < 0 ? -1 : has_same_bytes(upper, lower);
}

int store_read_link(int dir, const char *name, char **ret_target)
{
    char text[PATH_MAX];
    ssize_t length = readlinkat(dir, name, text, sizeof(text) - 1);
    if (length < 0) {
        errno = errno == EINVAL ? ESTALE : errno; /* no link any more: what was looked at is gone */
        return -1;
    }
    text[length] = '\0';
    *ret_target = strdup(text);
    return *ret_target ? 0 : -1;
}

static int has_same_target(const struct store_pair *pair)
{
    hutch_autofree char *upper = NULL;
    hutch_autofree char *lower = NULL;
    if (store_read_link(pair->upper_dir, pair->name, &upper) < 0 ||
        store_read_link(pair->lower_dir, pair->name, &lower) < 0)
        return -1;
    return strcmp(upper, lower) == 0;
}

/* Of two entries of the same type. */
static int is_same(const struct store_pair *pair)
{
    switch (pair->upper.st_mode & S_IFMT) {
    case S_IFREG:
        return has_same_content(pair);
    case S_IFLNK:
        return has_same_target(pair);
    case S_IFCHR:
    case S_IFBLK:
        return pair->upper.st_rdev == pair->lower.st_rdev;
    default: /* a directory, FIFO or socket is nothing but its name */
        return 1;
    }
}

static bool has_same_metadata(const struct store_pair *pair, const struct store_comparison *how)
{
    /* the kernel has no permissions on links */
    bool same_mode = S_ISLNK(pair->upper.st_mode) ||
                     ((pair->upper.st_mode ^ pair->lower.st_mode) & how->mode_mask) == 0;
    bool same_owner =
        pair->upper.st_uid == pair->lower.st_uid && pair->upper.st_gid == pair->lower.st_gid;
    return same_mode && (how->ignore_owner || same_owner);
}

int store_compare(const struct store_pair *pair, const struct store_comparison *how,
                  struct hutch_error *err)
{
    if (!pair->in_upper)
        return pair->in_lower ? HUTCH_CHANGE_DELETED : HUTCH_CHANGE_NONE;
    if (!pair->in_lower)
        return HUTCH_CHANGE_ADDED;
    if ((pair->upper.st_mode & S_IFMT) != (pair->lower.st_mode & S_IFMT))
        return HUTCH_CHANGE_TYPE;
    int same = is_same(pair);
    if (same < 0 && store_is_gone(errno))
        return HUTCH_CHANGE_NONE;
    if (same < 0)
        return hutch_fail_errno(err, errno, "compare '%.300s'", pair->path);
    if (!same)
        return HUTCH_CHANGE_MODIFIED;
    return has_same_metadata(pair, how) ? HUTCH_CHANGE_NONE : HUTCH_CHANGE_METADATA;
}
