/* SPDX-License-Identifier: Apache-2.0 */
/* A frame: 28 bytes of header, little-endian, then the bytes themselves. */
#ifndef HUTCH_STORE_LOG_FRAME_H
#define HUTCH_STORE_LOG_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#define LOG_HEADER_BYTES 28u
/* What bounds a reader's memory. */
#define LOG_FRAME_MAX (256u << 10)

struct log_frame {
    uint64_t offset; /* logical, of the first byte */
    uint64_t time_us;
    uint32_t length; /* 1 to LOG_FRAME_MAX */
    uint8_t stream;
};

static inline uint64_t log_frame_end(const struct log_frame *frame)
{
    return frame->offset + frame->length;
}

void log_frame_encode(const struct log_frame *frame, unsigned char header[LOG_HEADER_BYTES]);
/* Returns NULL, or what is wrong with it. */
const char *log_frame_decode(const unsigned char header[LOG_HEADER_BYTES],
                             struct log_frame *ret_frame);

#endif
