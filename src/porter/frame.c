/* SPDX-License-Identifier: Apache-2.0 */
#include "porter/frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define USUAL_CAPACITY ((size_t)4 * (FRAME_DATA_MAX + FRAME_HEADER_BYTES))

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers travel as they are");
_Static_assert(sizeof(struct frame_header) == FRAME_HEADER_BYTES, "the header is what travels");

/* What a frame of each type may look like. A message's upper bound is the reader's. */
static const struct {
    uint32_t least;
    uint32_t most;
    bool has_channel;
} shapes[FRAME_TYPE_COUNT] = {
    [FRAME_HELLO] = {sizeof(struct frame_hello), sizeof(struct frame_hello), false},
    [FRAME_MESSAGE] = {sizeof(struct frame_message), 0, false},
    [FRAME_DATA] = {1, FRAME_DATA_MAX, true},
    [FRAME_CLOSE] = {0, 0, true},
    [FRAME_GONE] = {0, 0, true},
    [FRAME_WINDOW_ADD] = {sizeof(uint32_t), sizeof(uint32_t), true},
    [FRAME_RESIZE] = {2 * sizeof(uint16_t), 2 * sizeof(uint16_t), true},
    [FRAME_END] = {0, 0, false},
    [FRAME_COUNT] = {0, 0, false},
    [FRAME_COUNTERS] = {sizeof(struct frame_counters), sizeof(struct frame_counters), false},
    [FRAME_ALIVE] = {0, 0, false},
};

/* ---- reading --------------------------------------------------------------------------------- */

static bool is_well_formed(const struct frame_reader *reader, const struct frame_header *header)
{
    static const uint8_t zero[sizeof(header->reserved)];
    if (!header->type || header->type >= FRAME_TYPE_COUNT ||
        memcmp(header->reserved, zero, sizeof(zero)) != 0)
        return false;
    uint32_t most = header->type == FRAME_MESSAGE ? reader->message_max : shapes[header->type].most;
    return header->length >= shapes[header->type].least && header->length <= most &&
           (header->channel != 0) == shapes[header->type].has_channel;
}

/* How many bytes the frame at the start has in all, as far as is known. */
static size_t wanted(const struct frame_reader *reader)
{
    struct frame_header header;
    if (reader->end - reader->start < sizeof(header))
        return sizeof(header);
    memcpy(&header, reader->buffer + reader->start, sizeof(header));
    return sizeof(header) + (is_well_formed(reader, &header) ? header.length : 0);
}

static int set_capacity(struct frame_reader *reader, size_t capacity)
{
    uint8_t *buffer = realloc(reader->buffer, capacity);
    if (!buffer)
        return -1;
    reader->buffer = buffer;
    reader->capacity = capacity;
    return 0;
}

uint8_t *frame_reader_room(struct frame_reader *reader, size_t *ret_room)
{
    size_t need = wanted(reader);
    if (reader->start) {
        memmove(reader->buffer, reader->buffer + reader->start, reader->end - reader->start);
        reader->end -= reader->start;
        reader->start = 0;
    }
    /* a long message's memory is given back as soon as it has been dealt with */
    bool is_too_large =
        reader->capacity > USUAL_CAPACITY && reader->end < USUAL_CAPACITY && need <= USUAL_CAPACITY;
    size_t capacity = need > USUAL_CAPACITY ? need : USUAL_CAPACITY;
    if ((reader->capacity < capacity || is_too_large) && set_capacity(reader, capacity) < 0)
        return NULL;
    *ret_room = reader->capacity - reader->end;
    return reader->buffer + reader->end;
}

void frame_reader_filled(struct frame_reader *reader, size_t length)
{
    reader->end += length;
}

int frame_next(struct frame_reader *reader, struct frame *ret_frame)
{
    struct frame_header header;
    if (reader->end - reader->start < sizeof(header))
        return 0;
    memcpy(&header, reader->buffer + reader->start, sizeof(header));
    if (!is_well_formed(reader, &header)) {
        errno = EPROTO;
        return -1;
    }
    if (reader->end - reader->start < sizeof(header) + header.length)
        return 0;
    *ret_frame = (struct frame){.type = header.type,
                                .channel = header.channel,
                                .data = reader->buffer + reader->start + sizeof(header),
                                .length = header.length};
    reader->start += sizeof(header) + header.length;
    return 1;
}

void frame_reader_done(struct frame_reader *reader)
{
    free(reader->buffer);
    *reader = (struct frame_reader){.message_max = reader->message_max};
}

static bool is_fd_valid(const struct frame_fd *fd)
{
    static const struct {
        bool has_channel;
        bool has_content;
    } kinds[FRAME_FD_KIND_COUNT] = {
        [FRAME_FD_INPUT] = {true, false},    [FRAME_FD_OUTPUT] = {true, false},
        [FRAME_FD_TERMINAL] = {true, false}, [FRAME_FD_NULL] = {false, false},
        [FRAME_FD_FILE] = {false, true},
    };
    return fd->kind && fd->kind < FRAME_FD_KIND_COUNT &&
           (fd->channel != 0) == kinds[fd->kind].has_channel &&
           (!fd->length || kinds[fd->kind].has_content);
}

int frame_message_read(const struct frame *frame, struct frame_parts *ret_parts)
{
    struct frame_message head;
    struct frame_parts parts = {0};
    uint8_t *at = frame->data;
    size_t left = frame->length;
    errno = EPROTO;
    if (left < sizeof(head))
        return -1;
    memcpy(&head, at, sizeof(head));
    at += sizeof(head);
    left -= sizeof(head);
    if (head.fd_count > FRAME_MAX_FDS || left < head.fd_count * sizeof(struct frame_fd))
        return -1;
    memcpy(parts.fds, at, head.fd_count * sizeof(struct frame_fd));
    at += head.fd_count * sizeof(struct frame_fd);
    left -= head.fd_count * sizeof(struct frame_fd);
    for (uint32_t i = 0; i < head.fd_count; i++) {
        if (!is_fd_valid(&parts.fds[i]) || left < parts.fds[i].length)
            return -1;
        parts.contents[i] = at;
        at += parts.fds[i].length;
        left -= parts.fds[i].length;
    }
    if (left != head.blob_length)
        return -1;
    parts.message = head.message;
    parts.fd_count = head.fd_count;
    parts.blob = at;
    parts.blob_length = head.blob_length;
    *ret_parts = parts;
    return 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int make_room(struct frame_queue *queue, size_t room)
{
    size_t length = frame_queue_length(queue);
    if (queue->failed)
        return -1;
    if (queue->capacity - queue->end >= room)
        return 0;
    /* moved down only when that frees at least half, so that a byte is moved once on average */
    if (queue->start && queue->capacity - length >= room && queue->start >= length) {
        memmove(queue->data, queue->data + queue->start, length);
        queue->start = 0;
        queue->end = length;
        return 0;
    }
    size_t capacity = queue->capacity ? queue->capacity : USUAL_CAPACITY;
    while (capacity - queue->end < room)
        capacity *= 2;
    uint8_t *data = realloc(queue->data, capacity);
    if (!data) {
        queue->failed = true;
        return -1;
    }
    queue->data = data;
    queue->capacity = capacity;
    return 0;
}

uint8_t *frame_begin(struct frame_queue *queue, size_t room)
{
    if (make_room(queue, FRAME_HEADER_BYTES + room) < 0)
        return NULL;
    return queue->data + queue->end + FRAME_HEADER_BYTES;
}

void frame_commit(struct frame_queue *queue, enum frame_type type, uint32_t channel,
                  uint32_t length)
{
    struct frame_header header = {.type = (uint8_t)type, .channel = channel, .length = length};
    memcpy(queue->data + queue->end, &header, sizeof(header));
    queue->end += sizeof(header) + length;
}

void frame_put(struct frame_queue *queue, enum frame_type type, uint32_t channel, const void *data,
               uint32_t length)
{
    uint8_t *content = frame_begin(queue, length);
    if (!content)
        return;
    if (length)
        memcpy(content, data, length);
    frame_commit(queue, type, channel, length);
}

static uint8_t *add(uint8_t *at, const void *data, size_t length)
{
    if (length)
        memcpy(at, data, length);
    return at + length;
}

void frame_put_message(struct frame_queue *queue, const struct frame_parts *parts)
{
    struct frame_message head = {
        .message = parts->message, .fd_count = parts->fd_count, .blob_length = parts->blob_length};
    size_t length = sizeof(head) + parts->fd_count * sizeof(struct frame_fd) + parts->blob_length;
    for (uint32_t i = 0; i < parts->fd_count; i++)
        length += parts->fds[i].length;
    uint8_t *at = frame_begin(queue, length);
    if (!at)
        return;
    at = add(at, &head, sizeof(head));
    at = add(at, parts->fds, parts->fd_count * sizeof(struct frame_fd));
    for (uint32_t i = 0; i < parts->fd_count; i++)
        at = add(at, parts->contents[i], parts->fds[i].length);
    (void)add(at, parts->blob, parts->blob_length);
    frame_commit(queue, FRAME_MESSAGE, 0, (uint32_t)length);
}

void frame_queue_sent(struct frame_queue *queue, size_t length)
{
    queue->start += length;
    if (queue->start != queue->end)
        return;
    queue->start = queue->end = 0;
    if (queue->capacity > USUAL_CAPACITY * 8) { /* a message that was long */
        free(queue->data);
        queue->data = NULL;
        queue->capacity = 0;
    }
}

void frame_queue_done(struct frame_queue *queue)
{
    free(queue->data);
    *queue = (struct frame_queue){0};
}
