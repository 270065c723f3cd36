/* SPDX-License-Identifier: Apache-2.0 */
/* An engine sends both output streams of a container over one connection: a header of eight bytes
 * (the stream's number, three zeros, the length with its highest byte first), then the bytes. A
 * header may come in as many pieces as it has bytes. */
#ifndef HUTCH_DOCKER_DEMUX_H
#define HUTCH_DOCKER_DEMUX_H

#include <stddef.h>
#include <stdint.h>

#define DEMUX_HEADER_BYTES 8
#define DEMUX_KEPT_BYTES 1024 /* of standard error: its end */

/* All zero is the beginning. */
struct demux {
    unsigned char header[DEMUX_HEADER_BYTES];
    size_t header_length;
    uint32_t left; /* of the bytes of this frame */
    char errors[DEMUX_KEPT_BYTES + 1];
    size_t error_length;
};

/* Takes bytes in until there are none, or no room for what comes out, which is standard output.
 * Returns how many came out, or -1 where this is no such stream. */
ptrdiff_t demux_feed(struct demux *demux, const char *in, size_t length, size_t *ret_used,
                     char *out, size_t size);

#endif
