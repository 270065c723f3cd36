/* SPDX-License-Identifier: Apache-2.0 */
/* Writing to a descriptor of the caller's without ever waiting for it: whoever waits cannot keep a
 * deadline. */
#ifndef HUTCH_NATIVE_SINK_H
#define HUTCH_NATIVE_SINK_H

#include <stdbool.h>
#include <stddef.h>

struct sink {
    int fd;     /* negative: none */
    bool owned; /* a description of our own, opened non-blocking: the caller's flags stay as they
                   are */
    bool is_socket;
    bool is_file;  /* never blocks for long */
    bool broken;   /* nothing more can be written */
    int os_errno;  /* why, when it was not the reader who left */
    char *pending; /* at most what was written at once */
    size_t pending_capacity;
    size_t pending_length;
    size_t pending_start;
};

void sink_open(struct sink *sink, int fd);
/* Writes what can be written now and keeps the rest; only call it when nothing is pending. */
#define SINK_CHUNK (256u << 10) /* is what comes at once, but for what redaction makes longer */
void sink_write(struct sink *sink, const char *data, size_t length);
/* Tries again; call when the descriptor is writable. */
void sink_flush(struct sink *sink);
static inline bool sink_is_full(const struct sink *sink)
{
    return sink->pending_length > 0;
}
void sink_close(struct sink *sink);

#endif
