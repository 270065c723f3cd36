/* SPDX-License-Identifier: Apache-2.0 */
#include "store/log_frame.h"

#include <endian.h>
#include <stddef.h>
#include <string.h>

#define MAGIC 0xa7

/* As it is in the file; no member needs padding. */
struct wire {
    uint8_t magic;
    uint8_t stream;
    uint16_t zero;
    uint32_t length;
    uint64_t offset;
    uint64_t time_us;
    uint32_t checksum; /* of all before it */
};

#define CHECKED_BYTES offsetof(struct wire, checksum)
_Static_assert(CHECKED_BYTES + sizeof(uint32_t) == LOG_HEADER_BYTES, "the header has no holes");

/* FNV-1a: each step is a bijection, so one changed byte always changes the sum. */
static uint32_t checksum(const void *data)
{
    const unsigned char *bytes = data;
    uint32_t sum = 2166136261u;
    for (size_t i = 0; i < CHECKED_BYTES; i++)
        sum = (sum ^ bytes[i]) * 16777619u;
    return sum;
}

void log_frame_encode(const struct log_frame *frame, unsigned char header[LOG_HEADER_BYTES])
{
    struct wire wire = {
        .magic = MAGIC,
        .stream = frame->stream,
        .length = htole32(frame->length),
        .offset = htole64(frame->offset),
        .time_us = htole64(frame->time_us),
    };
    wire.checksum = htole32(checksum(&wire));
    memcpy(header, &wire, LOG_HEADER_BYTES);
}

const char *log_frame_decode(const unsigned char header[LOG_HEADER_BYTES],
                             struct log_frame *ret_frame)
{
    struct wire wire = {0};
    memcpy(&wire, header, LOG_HEADER_BYTES);
    if (wire.magic != MAGIC || wire.zero)
        return "no frame begins there";
    if (le32toh(wire.checksum) != checksum(&wire))
        return "the frame's checksum does not match";
    struct log_frame frame = {
        .offset = le64toh(wire.offset),
        .time_us = le64toh(wire.time_us),
        .length = le32toh(wire.length),
        .stream = wire.stream,
    };
    if (frame.stream != 1 && frame.stream != 2)
        return "the frame is of no known stream";
    if (!frame.length || frame.length > LOG_FRAME_MAX || log_frame_end(&frame) < frame.offset)
        return "the frame's length cannot be";
    *ret_frame = frame;
    return NULL;
}
