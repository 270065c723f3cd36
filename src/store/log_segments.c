/* SPDX-License-Identifier: Apache-2.0 */
#include "store/log_segments.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "util/own.h"

#define DIGITS 20
#define SEGMENT_SUFFIX ".seg"
#define END_SUFFIX ".end"
/* 1 TiB of the largest segments. More are not ours, and would only take memory. */
#define SEGMENTS_MAX 65536

void log_segment_name(uint64_t start, char name[LOG_NAME_SIZE])
{
    (void)snprintf(name, LOG_NAME_SIZE, "%020" PRIu64 SEGMENT_SUFFIX, start);
}

void log_end_name(uint64_t offset, char name[LOG_NAME_SIZE])
{
    (void)snprintf(name, LOG_NAME_SIZE, "%020" PRIu64 END_SUFFIX, offset);
}

static bool parse_name(const char *name, const char *suffix, uint64_t *ret_offset)
{
    if (strspn(name, "0123456789") != DIGITS || strcmp(name + DIGITS, suffix) != 0)
        return false;
    errno = 0;
    unsigned long long offset = strtoull(name, NULL, 10);
    if (errno)
        return false;
    *ret_offset = offset;
    return true;
}

static int add(struct log_segments *segments, uint64_t start, struct hutch_error *err)
{
    if (segments->count == SEGMENTS_MAX)
        return hutch_fail(err, HUTCH_E_INVALID, E2BIG,
                          "the log's directory has more than %d segments: it is no log",
                          SEGMENTS_MAX);
    if (segments->count == segments->capacity) {
        size_t capacity = segments->capacity ? 2 * segments->capacity : 32;
        uint64_t *starts = reallocarray(segments->starts, capacity, sizeof(*starts));
        if (!starts)
            return hutch_fail_nomem(err);
        segments->starts = starts;
        segments->capacity = capacity;
    }
    segments->starts[segments->count++] = start;
    return 0;
}

static int add_entry(struct log_segments *segments, const char *name, struct hutch_error *err)
{
    uint64_t offset;
    if (parse_name(name, SEGMENT_SUFFIX, &offset))
        return add(segments, offset, err);
    if (parse_name(name, END_SUFFIX, &offset)) {
        segments->end = segments->ended && segments->end > offset ? segments->end : offset;
        segments->ended = true;
    }
    return 0;
}

static int compare(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static void close_directory(DIR **directory)
{
    if (*directory)
        (void)closedir(*directory);
}

/* Of its own, since reading moves a place that the caller's descriptor shares with others. */
static DIR *open_directory(int dir)
{
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (!directory)
        hutch_fd_close(&fd);
    return directory;
}

/* A directory that was removed reads as an empty one. */
static bool was_removed(DIR *directory)
{
    struct stat info;
    return fstat(dirfd(directory), &info) == 0 && info.st_nlink == 0;
}

int log_segments_list(int dir, struct log_segments *segments, struct hutch_error *err)
{
    hutch_cleanup(close_directory) DIR *directory = open_directory(dir);
    if (!directory)
        return hutch_fail_errno(err, errno, "open the log's directory");
    if (was_removed(directory))
        return hutch_fail(err, HUTCH_E_NOT_FOUND, ENOENT, "the log was removed");
    segments->count = 0;
    segments->ended = false;
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(directory);
        if (!entry && errno)
            return hutch_fail_errno(err, errno, "read the log's directory");
        if (!entry)
            break;
        int r = add_entry(segments, entry->d_name, err);
        if (r < 0)
            return r;
    }
    if (segments->count)
        qsort(segments->starts, segments->count, sizeof(*segments->starts), compare);
    return 0;
}

void log_segments_done(struct log_segments *segments)
{
    free(segments->starts);
    *segments = (struct log_segments){0};
}

size_t log_segments_before(const struct log_segments *segments, uint64_t offset)
{
    size_t low = 0, high = segments->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (segments->starts[middle] <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
