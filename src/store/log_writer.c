/* SPDX-License-Identifier: Apache-2.0 */
#include "store/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "store/log_frame.h"
#include "store/log_recover.h"
#include "store/log_segments.h"
#include "util/own.h"

#define SEGMENTS_PER_LIMIT 16
#define SEGMENT_MIN (64u << 10)
#define SEGMENT_MAX (16u << 20)
/* A file takes whole blocks: counted so, a multitude of tiny segments cannot outgrow the limit. */
#define BLOCK 4096u

struct segment {
    uint64_t start;
    uint64_t size;
};

struct log_writer {
    int dir; /* of its own, and locked */
    int fd;  /* the newest segment; HUTCH_NO_FD: none that could be written to */
    uint64_t limit;
    uint64_t segment_limit;
    uint64_t offset;
    uint64_t dropped;
    uint64_t total; /* what all segments take */
    bool ended;
    struct segment *segments; /* oldest first; the last one is written to */
    size_t count;
    size_t capacity;
};

static uint64_t taken(uint64_t size)
{
    return (size + BLOCK - 1) / BLOCK * BLOCK;
}

static uint64_t clamp(uint64_t value, uint64_t least, uint64_t most)
{
    if (value < least)
        return least;
    return value > most ? most : value;
}

/* ---- opening ---- */

static int remember(struct log_writer *writer, uint64_t start, uint64_t size,
                    struct hutch_error *err)
{
    if (writer->count == writer->capacity) {
        size_t capacity = writer->capacity ? 2 * writer->capacity : 32;
        struct segment *segments =
            reallocarray(writer->segments, capacity, sizeof(*writer->segments));
        if (!segments)
            return hutch_fail_nomem(err);
        writer->segments = segments;
        writer->capacity = capacity;
    }
    writer->segments[writer->count++] = (struct segment){start, size};
    writer->total += taken(size);
    return 0;
}

static int measure(struct log_writer *writer, const struct log_segments *found,
                   struct hutch_error *err)
{
    for (size_t i = 0; i < found->count; i++) {
        char name[LOG_NAME_SIZE];
        struct stat info;
        log_segment_name(found->starts[i], name);
        if (fstatat(writer->dir, name, &info, AT_SYMLINK_NOFOLLOW) < 0)
            return hutch_fail_errno(err, errno, "look at log segment '%s'", name);
        int r = remember(writer, found->starts[i], (uint64_t)info.st_size, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int open_newest(struct log_writer *writer, struct hutch_error *err)
{
    char name[LOG_NAME_SIZE];
    struct log_remains remains;
    uint64_t start = writer->segments[writer->count - 1].start;
    int r = log_recover(writer->dir, start, &remains, err);
    if (r < 0)
        return r;
    writer->offset = remains.offset;
    if (remains.torn)
        return 0;
    log_segment_name(start, name);
    writer->fd = openat(writer->dir, name, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
    return writer->fd < 0 ? hutch_fail_errno(err, errno, "open log segment '%s'", name) : 0;
}

static int resume(struct log_writer *writer, struct hutch_error *err)
{
    hutch_cleanup(log_segments_done) struct log_segments found = {0};
    int r = log_segments_list(writer->dir, &found, err);
    if (r < 0)
        return r;
    if (found.ended)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "the log has ended at offset %llu: nothing can be added to it",
                          (unsigned long long)found.end);
    r = measure(writer, &found, err);
    if (r == 0 && writer->count)
        r = open_newest(writer, err);
    return r;
}

/* The lock goes with the writer, however it dies. */
static int lock(struct log_writer *writer, int dir, struct hutch_error *err)
{
    writer->dir = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (writer->dir < 0)
        return hutch_fail_errno(err, errno, "open the log's directory");
    if (flock(writer->dir, LOCK_EX | LOCK_NB) == 0)
        return 0;
    if (errno == EWOULDBLOCK)
        return hutch_fail(err, HUTCH_E_INVALID, errno, "the log has another writer");
    return hutch_fail_errno(err, errno, "lock the log's directory");
}

static void close_writer(struct log_writer **writer)
{
    log_writer_close(*writer);
}

int log_writer_open(int dir, uint64_t limit_bytes, struct log_writer **ret_writer,
                    struct hutch_error *err)
{
    hutch_cleanup(close_writer) struct log_writer *writer = calloc(1, sizeof(*writer));
    if (!writer)
        return hutch_fail_nomem(err);
    writer->dir = writer->fd = HUTCH_NO_FD;
    writer->limit = limit_bytes < LOG_LIMIT_MIN ? LOG_LIMIT_MIN : limit_bytes;
    writer->segment_limit = clamp(writer->limit / SEGMENTS_PER_LIMIT, SEGMENT_MIN, SEGMENT_MAX);
    int r = lock(writer, dir, err);
    if (r == 0)
        r = resume(writer, err);
    if (r < 0)
        return r;
    *ret_writer = HUTCH_TAKE_PTR(writer);
    return 0;
}

void log_writer_close(struct log_writer *writer)
{
    if (!writer)
        return;
    hutch_fd_close(&writer->fd);
    hutch_fd_close(&writer->dir);
    free(writer->segments);
    free(writer);
}

/* ---- appending ---- */

static int remove_oldest(struct log_writer *writer, struct hutch_error *err)
{
    char name[LOG_NAME_SIZE];
    log_segment_name(writer->segments[0].start, name);
    if (unlinkat(writer->dir, name, 0) < 0 && errno != ENOENT)
        return hutch_fail_errno(err, errno, "remove log segment '%s'", name);
    writer->total -= taken(writer->segments[0].size);
    writer->count--;
    memmove(writer->segments, writer->segments + 1, writer->count * sizeof(*writer->segments));
    return 0;
}

static int new_segment(struct log_writer *writer, struct hutch_error *err)
{
    char name[LOG_NAME_SIZE];
    log_segment_name(writer->offset, name);
    hutch_fd_close(&writer->fd);
    hutch_autofd int fd = openat(
        writer->dir, name, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return hutch_fail_errno(err, errno, "make log segment '%s'", name);
    int r = remember(writer, writer->offset, 0, err);
    if (r < 0) {
        (void)unlinkat(writer->dir, name, 0);
        return r;
    }
    writer->fd = HUTCH_TAKE_FD(fd);
    return 0;
}

/* A segment that can take size bytes more, and the room for them within the limit. */
static int make_room(struct log_writer *writer, uint64_t size, struct hutch_error *err)
{
    int r = 0;
    if (writer->fd < 0 || writer->segments[writer->count - 1].size + size > writer->segment_limit)
        r = new_segment(writer, err);
    while (r == 0 && writer->count > 1) {
        uint64_t newest = writer->segments[writer->count - 1].size;
        if (writer->total - taken(newest) + taken(newest + size) <= writer->limit)
            break;
        r = remove_oldest(writer, err);
    }
    return r;
}

static uint64_t now_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Returns what was written, or -1 with errno. */
static ssize_t write_frame(struct log_writer *writer, enum log_stream stream, const void *data,
                           size_t length)
{
    unsigned char header[LOG_HEADER_BYTES];
    const struct log_frame frame = {
        .offset = writer->offset,
        .time_us = now_us(),
        .length = (uint32_t)length,
        .stream = (uint8_t)stream,
    };
    log_frame_encode(&frame, header);
    struct iovec pieces[] = {{header, sizeof(header)}, {(void *)(uintptr_t)data, length}};
    ssize_t written;
    do
        written = writev(writer->fd, pieces, 2);
    while (written < 0 && errno == EINTR);
    return written;
}

static int append_frame(struct log_writer *writer, enum log_stream stream, const void *data,
                        size_t length, struct hutch_error *err)
{
    const size_t size = LOG_HEADER_BYTES + length;
    int r = make_room(writer, size, err);
    if (r < 0)
        return r;
    ssize_t written = write_frame(writer, stream, data, length);
    if (written < 0)
        return hutch_fail_errno(err, errno, "write to the log");
    struct segment *newest = &writer->segments[writer->count - 1];
    writer->total -= taken(newest->size);
    newest->size += (uint64_t)written;
    writer->total += taken(newest->size);
    if ((size_t)written == size)
        return 0;
    hutch_fd_close(&writer->fd); /* nothing may follow a torn frame */
    return hutch_fail(err, HUTCH_E_SYSTEM, ENOSPC, "write to the log: no room for a whole frame");
}

static int check_append(const struct log_writer *writer, enum log_stream stream, size_t length,
                        struct hutch_error *err)
{
    if (writer->ended)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "the log has ended: nothing can be added to it");
    if (stream != LOG_STDOUT && stream != LOG_STDERR)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "the log knows no stream %d", (int)stream);
    if (length > UINT64_MAX - writer->offset)
        return hutch_fail(err, HUTCH_E_INVALID, EOVERFLOW, "the log's offset is at its end");
    return 0;
}

int log_append(struct log_writer *writer, enum log_stream stream, const void *data, size_t length,
               struct hutch_error *err)
{
    struct hutch_error failure = HUTCH_ERROR_INIT;
    const char *next = data;
    const uint64_t most = clamp(writer->segment_limit - LOG_HEADER_BYTES, 1, LOG_FRAME_MAX);
    int r = check_append(writer, stream, length, err);
    if (r < 0)
        return r;
    while (length) {
        size_t piece = length < most ? length : (size_t)most;
        int failed = append_frame(writer, stream, next, piece, &failure);
        bool is_full = failed && (failure.os_errno == ENOSPC || failure.os_errno == EDQUOT);
        writer->dropped += failed ? piece : 0;
        writer->offset += piece; /* what is lost keeps its place */
        if (failed && !is_full && r == 0) {
            r = failed;
            if (err)
                *err = failure;
        }
        next += piece;
        length -= piece;
    }
    return r;
}

uint64_t log_writer_offset(const struct log_writer *writer)
{
    return writer->offset;
}

uint64_t log_writer_dropped(const struct log_writer *writer)
{
    return writer->dropped;
}

int log_writer_end(struct log_writer *writer, struct hutch_error *err)
{
    char name[LOG_NAME_SIZE];
    log_end_name(writer->offset, name);
    for (;;) {
        hutch_autofd int fd =
            openat(writer->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0 || errno == EEXIST)
            break;
        if ((errno != ENOSPC && errno != EDQUOT) || writer->count < 2)
            return hutch_fail_errno(err, errno, "mark the log's end");
        /* the end is worth more than the oldest output */
        int r = remove_oldest(writer, err);
        if (r < 0)
            return r;
    }
    writer->ended = true;
    return 0;
}
