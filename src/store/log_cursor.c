/* SPDX-License-Identifier: Apache-2.0 */
#include "store/log_cursor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/log_segments.h"
#include "util/own.h"

/* Many small frames' headers in one call, and little lost on large ones. */
#define HEADERS_AHEAD 4096u

int log_cursor_init(struct log_cursor *cursor, struct hutch_error *err)
{
    *cursor = (struct log_cursor){.fd = HUTCH_NO_FD, .buffer = malloc(LOG_CURSOR_BUFFER)};
    return cursor->buffer ? 0 : hutch_fail_nomem(err);
}

void log_cursor_done(struct log_cursor *cursor)
{
    log_cursor_close(cursor);
    free(cursor->buffer);
    cursor->buffer = NULL;
}

int log_cursor_open(struct log_cursor *cursor, int dir, uint64_t start, struct hutch_error *err)
{
    char name[LOG_NAME_SIZE];
    struct stat info;
    log_segment_name(start, name);
    /* without waiting: it could be a pipe somebody put there */
    hutch_autofd int fd =
        openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return errno == ELOOP ? hutch_fail(err, HUTCH_E_INVALID, ELOOP,
                                           "log segment '%s' is a symbolic link: not read", name)
                              : hutch_fail_errno(err, errno, "open log segment '%s'", name);
    if (fstat(fd, &info) < 0)
        return hutch_fail_errno(err, errno, "look at log segment '%s'", name);
    if (!S_ISREG(info.st_mode))
        return hutch_fail(err, HUTCH_E_INVALID, 0, "log segment '%s' is no regular file: not read",
                          name);
    log_cursor_close(cursor);
    cursor->fd = HUTCH_TAKE_FD(fd);
    cursor->start = cursor->floor = start;
    cursor->size = (uint64_t)info.st_size;
    cursor->position = cursor->window = 0;
    cursor->filled = 0;
    cursor->wrong = NULL;
    return 0;
}

void log_cursor_close(struct log_cursor *cursor)
{
    hutch_fd_close(&cursor->fd);
}

static int fail_read(const struct log_cursor *cursor, struct hutch_error *err)
{
    char name[LOG_NAME_SIZE];
    log_segment_name(cursor->start, name);
    return hutch_fail_errno(err, errno, "read log segment '%s'", name);
}

/* Brings the bytes from the position on into the buffer: at least need of them, at most ahead.
 * Returns false in *ret_there when the file has fewer. */
static int fill(struct log_cursor *cursor, size_t need, size_t ahead, bool *ret_there,
                struct hutch_error *err)
{
    *ret_there = true;
    if (cursor->position >= cursor->window &&
        cursor->position + need <= cursor->window + cursor->filled)
        return 0;
    cursor->window = cursor->position;
    cursor->filled = 0;
    while (cursor->filled < need) {
        ssize_t got = pread(cursor->fd, cursor->buffer + cursor->filled, ahead - cursor->filled,
                            (off_t)(cursor->window + cursor->filled));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_read(cursor, err);
        if (got == 0)
            break;
        cursor->filled += (size_t)got;
    }
    *ret_there = cursor->filled >= need;
    return 0;
}

static int reaches(struct log_cursor *cursor, uint64_t end, bool *ret_there,
                   struct hutch_error *err)
{
    struct stat info;
    if (end > cursor->size) {
        if (fstat(cursor->fd, &info) < 0)
            return fail_read(cursor, err);
        cursor->size = (uint64_t)info.st_size;
    }
    *ret_there = end <= cursor->size;
    return 0;
}

static const unsigned char *at_position(const struct log_cursor *cursor)
{
    return cursor->buffer + (cursor->position - cursor->window);
}

int log_cursor_peek(struct log_cursor *cursor, struct log_frame *ret_frame, bool *ret_has_header,
                    struct hutch_error *err)
{
    bool there;
    *ret_has_header = false;
    if (cursor->wrong)
        return LOG_CURSOR_DAMAGED;
    int r = fill(cursor, LOG_HEADER_BYTES, cursor->headers_only ? HEADERS_AHEAD : LOG_CURSOR_BUFFER,
                 &there, err);
    if (r < 0)
        return r;
    if (!there)
        return LOG_CURSOR_END;
    cursor->wrong = log_frame_decode(at_position(cursor), ret_frame);
    if (!cursor->wrong && ret_frame->offset < cursor->floor)
        cursor->wrong = "the frame's offset goes back";
    if (cursor->wrong)
        return LOG_CURSOR_DAMAGED;
    *ret_has_header = true;
    r = reaches(cursor, cursor->position + LOG_HEADER_BYTES + ret_frame->length, &there, err);
    if (r < 0)
        return r;
    return there ? LOG_CURSOR_FRAME : LOG_CURSOR_END;
}

int log_cursor_data(struct log_cursor *cursor, const struct log_frame *frame, const char **ret_data,
                    struct hutch_error *err)
{
    bool there;
    int r = fill(cursor, LOG_HEADER_BYTES + frame->length, LOG_CURSOR_BUFFER, &there, err);
    if (r < 0)
        return r;
    if (!there) { /* somebody cut the file: peek must not believe its old size */
        cursor->size = 0;
        return LOG_CURSOR_END;
    }
    *ret_data = (const char *)at_position(cursor) + LOG_HEADER_BYTES;
    return LOG_CURSOR_FRAME;
}

void log_cursor_skip(struct log_cursor *cursor, const struct log_frame *frame)
{
    cursor->position += LOG_HEADER_BYTES + frame->length;
    cursor->floor = log_frame_end(frame);
}
