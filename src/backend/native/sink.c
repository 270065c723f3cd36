/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/native/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "util/own.h"

void sink_open(struct sink *sink, int fd)
{
    struct stat info;
    *sink = (struct sink){.fd = fd};
    if (fd < 0 || fstat(fd, &info) < 0)
        return; /* of what kind it is nobody knows: small pieces, when it has room */
    sink->is_socket = S_ISSOCK(info.st_mode);
    sink->is_file = S_ISREG(info.st_mode);
    if (!S_ISFIFO(info.st_mode) && !isatty(fd))
        return;
    char path[32];
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (own >= 0) {
        sink->fd = own;
        sink->owned = true;
    }
}

/* What could not be opened anew (another user's pipe or terminal) blocks, and is shared with
 * whoever else writes to it, the command's other stream included: room that was there a moment ago
 * may be gone. Pipes can be told not to wait for a single write; for the rest we look first. */
static ssize_t write_shared(int fd, const char *data, size_t length)
{
    struct iovec piece = {(void *)(uintptr_t)data, length < PIPE_BUF ? length : PIPE_BUF};
    struct pollfd room = {.fd = fd, .events = POLLOUT};
    ssize_t written = syscall(SYS_pwritev2, fd, &piece, 1, -1L, -1L, RWF_NOWAIT);
    if (written >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL))
        return written;
    if (poll(&room, 1, 0) < 1) {
        errno = EAGAIN;
        return -1;
    }
    return write(fd, piece.iov_base, piece.iov_len);
}

static ssize_t write_some(const struct sink *sink, const char *data, size_t length)
{
    if (sink->is_socket)
        return send(sink->fd, data, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (!sink->owned && !sink->is_file)
        return write_shared(sink->fd, data, length);
    return write(sink->fd, data, length);
}

static void keep(struct sink *sink, const char *data, size_t length)
{
    size_t needed = length > SINK_CHUNK ? length : SINK_CHUNK;
    if (sink->pending_capacity < needed) {
        free(sink->pending);
        sink->pending = malloc(needed);
        sink->pending_capacity = needed;
    }
    if (!sink->pending) {
        sink->broken = true;
        sink->os_errno = ENOMEM;
        return;
    }
    memmove(sink->pending, data, length);
    sink->pending_start = 0;
    sink->pending_length = length;
}

static void fail(struct sink *sink, int os_errno)
{
    sink->broken = true;
    if (os_errno != EPIPE && os_errno != ECONNRESET)
        sink->os_errno = os_errno;
}

static size_t push(struct sink *sink, const char *data, size_t length)
{
    size_t done = 0;
    while (done < length) {
        ssize_t written = write_some(sink, data + done, length - done);
        if (written > 0)
            done += (size_t)written;
        else if (written < 0 && errno == EINTR)
            continue;
        else if (written < 0 && errno != EAGAIN)
            fail(sink, errno);
        if (written <= 0)
            break;
    }
    return done;
}

void sink_write(struct sink *sink, const char *data, size_t length)
{
    if (sink->fd < 0 || sink->broken)
        return;
    size_t done = push(sink, data, length);
    if (!sink->broken && done < length)
        keep(sink, data + done, length - done);
}

void sink_flush(struct sink *sink)
{
    size_t done = push(sink, sink->pending + sink->pending_start, sink->pending_length);
    sink->pending_start += done;
    sink->pending_length = sink->broken ? 0 : sink->pending_length - done;
}

void sink_close(struct sink *sink)
{
    if (sink->owned)
        hutch_fd_close(&sink->fd);
    free(sink->pending);
    sink->pending = NULL;
}
