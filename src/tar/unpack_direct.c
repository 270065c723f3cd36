/* SPDX-License-Identifier: Apache-2.0 */
/* The content of a large file, past the page cache. Cached pages of what is copied into a sandbox
 * count as its memory: a file above the limit goes to the disk while it is written anyway, page by
 * page, after everything else was pushed out. Sent straight from one buffer it costs a fraction of
 * the processor's time, and the sandbox's cache stays.
 *
 * Where the kernel will not have it, on which filesystem and for whatever reason, what is left is
 * written in the ordinary way, which then tells what is really wrong. */
#include "tar/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "tar/out.h"

/* Of buffer, position and length: no disk or filesystem has larger sectors. */
#define ALIGNMENT 4096u
/* Each write waits for the disk, so it has to keep the disk busy. */
#define CHUNK_BYTES (2u << 20)

static int set_direct(int fd, bool direct)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0)
        return -1;
    return fcntl(fd, F_SETFL, direct ? flags | O_DIRECT : flags & ~O_DIRECT);
}

/* Returns how much was written before the kernel would have no more of it. */
static size_t write_direct(int out, const char *data, size_t length)
{
    size_t done = 0;
    while (done < length && done % ALIGNMENT == 0) {
        ssize_t written = write(out, data + done, length - done);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            break;
        done += (size_t)written;
    }
    return done;
}

/* 1: a chunk went out directly, 0: it did in the ordinary way, and so should the rest. */
static int write_chunk(const struct unpack *unpack, int out, const char *data, size_t length)
{
    size_t done = write_direct(out, data, length);
    if (done == length)
        return 1;
    if (set_direct(out, false) < 0 || tar_write_all(out, data + done, length - done) < 0)
        return unpack_fail(unpack, TAR_TARGET, errno);
    return 0;
}

int unpack_direct(struct unpack *unpack, int out, uint64_t *left)
{
    char *chunk = aligned_alloc(ALIGNMENT, CHUNK_BYTES);
    int status = chunk && set_direct(out, true) == 0;
    while (status > 0 && *left >= ALIGNMENT) {
        size_t length = (size_t)TAR_MIN(*left, CHUNK_BYTES) / ALIGNMENT * ALIGNMENT;
        status = tar_reader_fill(&unpack->reader, chunk, length);
        if (status == 0)
            status = write_chunk(unpack, out, chunk, length);
        *left -= length;
    }
    if (status > 0 && set_direct(out, false) < 0)
        status = unpack_fail(unpack, TAR_TARGET, errno);
    free(chunk);
    return status < 0 ? -1 : 0;
}
