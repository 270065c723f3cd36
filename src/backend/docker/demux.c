/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/docker/demux.h"

#include <string.h>

enum { STREAM_OUT = 1, STREAM_ERR = 2 };

static size_t least(size_t one, size_t other)
{
    return one < other ? one : other;
}

/* 1: complete, 0: more is needed, -1: no header. */
static int take_header(struct demux *demux, const char *in, size_t length, size_t *ret_used)
{
    unsigned char *header = demux->header;
    *ret_used = least(DEMUX_HEADER_BYTES - demux->header_length, length);
    memcpy(header + demux->header_length, in, *ret_used);
    demux->header_length += *ret_used;
    if (demux->header_length < DEMUX_HEADER_BYTES)
        return 0;
    if ((header[0] != STREAM_OUT && header[0] != STREAM_ERR) || header[1] || header[2] || header[3])
        return -1;
    demux->left = (uint32_t)header[4] << 24 | (uint32_t)header[5] << 16 | (uint32_t)header[6] << 8 |
                  header[7];
    return 1;
}

static void keep_error(struct demux *demux, const char *text, size_t length)
{
    if (length > DEMUX_KEPT_BYTES) {
        text += length - DEMUX_KEPT_BYTES;
        length = DEMUX_KEPT_BYTES;
    }
    size_t kept = least(demux->error_length, DEMUX_KEPT_BYTES - length);
    memmove(demux->errors, demux->errors + demux->error_length - kept, kept);
    memcpy(demux->errors + kept, text, length);
    demux->error_length = kept + length;
    demux->errors[demux->error_length] = '\0';
}

ptrdiff_t demux_feed(struct demux *demux, const char *in, size_t length, size_t *ret_used,
                     char *out, size_t size)
{
    size_t used = 0;
    size_t made = 0;
    while (used < length) {
        size_t piece = 0;
        if (demux->header_length < DEMUX_HEADER_BYTES) {
            int whole = take_header(demux, in + used, length - used, &piece);
            used += piece;
            if (whole < 0)
                return -1;
        } else if (demux->header[0] == STREAM_ERR) {
            piece = least(demux->left, length - used);
            keep_error(demux, in + used, piece);
            used += piece;
            demux->left -= (uint32_t)piece;
        } else {
            piece = least(least(demux->left, length - used), size - made);
            if (!piece && demux->left)
                break;
            memcpy(out + made, in + used, piece);
            used += piece;
            made += piece;
            demux->left -= (uint32_t)piece;
        }
        if (demux->header_length == DEMUX_HEADER_BYTES && !demux->left)
            demux->header_length = 0;
    }
    *ret_used = used;
    return (ptrdiff_t)made;
}
