/* SPDX-License-Identifier: Apache-2.0 */
/* The chunked coding (RFC 9112, 7.1), strictly: CR LF and nothing else ends a line. */
#ifndef HUTCH_HTTP_CHUNKED_H
#define HUTCH_HTTP_CHUNKED_H

#include <stddef.h>
#include <stdint.h>

enum chunked_state {
    CHUNKED_SIZE,
    CHUNKED_EXTENSION,
    CHUNKED_SIZE_LF,
    CHUNKED_DATA,
    CHUNKED_DATA_CR,
    CHUNKED_DATA_LF,
    CHUNKED_LAST_CR,
    CHUNKED_LAST_LF,
    CHUNKED_END,
    CHUNKED_WRONG,
};

struct chunked {
    enum chunked_state state;
    unsigned digits;
    unsigned extension_bytes; /* of all chunks together */
    uint64_t left;            /* of the chunk's data */
};

/* Goes over what is not data; returns how many bytes that were. Stops at data (CHUNKED_DATA: up to
 * `left` bytes of it come next, and whoever takes some counts them off with chunked_take()), at the
 * end, and at what is wrong. */
size_t chunked_skip(struct chunked *chunked, const char *data, size_t length);
void chunked_take(struct chunked *chunked, size_t length);

#endif
