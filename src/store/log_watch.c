/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for the writer. One watch on the directory is enough: it reports what happens to the
 * files in it as well. */
#include <poll.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "store/log_reader.h"
#include "util/own.h"

#define EVENTS (IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_ONLYDIR)
/* Whoever has a directory open is not told that it was removed: one looks now and then. */
#define LOOK_AGAIN_MS 1000
/* However fast the writer is, emptying comes to an end; what is left is a wake-up too many. */
#define ROUNDS_MAX 16

int log_reader_watch_fd(struct log_reader *reader)
{
    char path[32];
    if (reader->watch_fd >= 0)
        return reader->watch_fd;
    hutch_autofd int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd < 0)
        return HUTCH_NO_FD;
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", reader->dir);
    if (inotify_add_watch(fd, path, EVENTS) < 0)
        return HUTCH_NO_FD;
    return reader->watch_fd = HUTCH_TAKE_FD(fd);
}

void log_watch_empty(struct log_reader *reader)
{
    char events[4096];
    for (int i = 0; reader->watch_fd >= 0 && i < ROUNDS_MAX; i++)
        if (read(reader->watch_fd, events, sizeof(events)) <= 0)
            break;
}

bool log_reader_wait(struct log_reader *reader, int timeout_ms)
{
    struct pollfd watch = {.fd = reader->watch_fd, .events = POLLIN};
    if (watch.fd < 0 && log_reader_watch_fd(reader) >= 0)
        return true; /* what was written before this moment wakes nobody */
    int slice_ms = watch.fd < 0 ? LOG_POLL_MS : LOOK_AGAIN_MS;
    bool is_last = timeout_ms >= 0 && timeout_ms <= slice_ms;
    return poll(&watch, watch.fd >= 0, is_last ? timeout_ms : slice_ms) != 0 || !is_last;
}
