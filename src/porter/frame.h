/* SPDX-License-Identifier: Apache-2.0 */
/* The tunnel between a porter (outside) and hutch-init (inside a container of some engine).
 *
 * Inside native namespaces the keeper and PID 1 share a socket over which descriptors travel. A
 * container of an engine has a standard input and a standard output and nothing else, perhaps on
 * another machine. So both ends speak the same protocol (init/protocol.h), and the tunnel carries
 * it: a message as one frame, and for each descriptor that came along a channel of bytes.
 *
 * Every frame is a header and 'length' bytes. Numbers are little-endian. A channel may send as many
 * bytes as the other side has allowed: a reader who does not read stops its own channel and no
 * other. What cannot be understood ends the tunnel, and with it the sandbox.
 *
 * The outside numbers the channels, upwards, and uses no number twice. So a frame for a channel
 * that is no more can be told from one for a channel that never was: the former was on its way when
 * the channel ended and is dropped.
 *
 * This file, channel.h and tunnel.h are part of hutch-init as well: the C library alone. */
#ifndef HUTCH_PORTER_FRAME_H
#define HUTCH_PORTER_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "init/protocol.h"

#define FRAME_VERSION 1
#define FRAME_HEADER_BYTES 12
#define FRAME_DATA_MAX (64u << 10)    /* bytes in one frame of a channel */
#define FRAME_MESSAGE_MAX (64u << 20) /* of a message with its blob and its files */
#define FRAME_REPORT_MAX (4u << 10)   /* of a message from inside, which has neither */
#define FRAME_WINDOW (256u << 10)     /* what a channel may send before it is allowed more */
/* When a command has ended, what its pipes hold is sent before the word of its end, allowed or not:
 * as much as an ordinary user's pipe can hold. */
#define FRAME_OVERDRAFT (1u << 20)
/* Not every end of the outside is heard of inside: an engine that was killed leaves a container
 * whose standard input stays open, and a machine far away may just fall silent. So the outside says
 * every now and then that it is there, and without a word from it the inside ends itself. */
#define FRAME_ALIVE_PERIOD_US UINT64_C(30000000)
#define FRAME_FIRST_PATIENCE_US UINT64_C(60000000)
#define FRAME_PATIENCE_US UINT64_C(300000000)
#define FRAME_MAX_CHANNELS 8192 /* alive at one time */
#define FRAME_MAX_FDS 4         /* of one message: standard descriptors and a program */

enum frame_type {
    FRAME_HELLO = 1,  /* inside: it is there; a struct frame_hello. The first frame. */
    FRAME_MESSAGE,    /* both: a struct frame_message, a struct frame_fd for each descriptor, the
                         contents of those that are files, the blob */
    FRAME_DATA,       /* both: bytes of a channel */
    FRAME_CLOSE,      /* both: no more bytes in this direction */
    FRAME_GONE,       /* both: nobody reads this channel any more; what arrives is dropped */
    FRAME_WINDOW_ADD, /* both: uint32: so many bytes more may be sent */
    FRAME_RESIZE,     /* outside: uint16 rows, uint16 columns of a terminal */
    FRAME_END,        /* outside: end everything inside, send what is left in the pipes */
    FRAME_COUNT,      /* outside: what has been used? */
    FRAME_COUNTERS,   /* inside: a struct frame_counters; asked for, and before its end */
    FRAME_ALIVE,      /* outside: somebody is there; at once after the hello, and ever again */
    FRAME_TYPE_COUNT,
};

struct frame_header {
    uint8_t type;
    uint8_t reserved[3];
    uint32_t channel; /* 0: none */
    uint32_t length;  /* of what follows */
};

struct frame_hello {
    uint32_t version;
    uint32_t uid; /* of hutch-init, and so of every process */
    uint32_t gid;
    char home[256]; /* its HOME; may be empty */
};

/* What the kernel has counted, as far as the container sees its own cgroup. */
enum frame_known {
    FRAME_HAS_CPU = 1,
    FRAME_HAS_MEMORY = 2,
    FRAME_HAS_MEMORY_PEAK = 4,
    FRAME_HAS_PIDS = 8,
    FRAME_HAS_PIDS_PEAK = 16,
    FRAME_HAS_OOM_KILLS = 32,
    FRAME_HAS_PIDS_REFUSED = 64,
};

/* Where a command writes, when the container ends. */
enum frame_full { FRAME_MEMORY_IS_FULL = 1, FRAME_LAYER_IS_FULL = 2 };

struct frame_counters {
    uint64_t cpu_us;
    uint64_t memory_bytes;
    uint64_t memory_peak_bytes;
    uint64_t pids;
    uint64_t pids_peak;
    uint64_t oom_kills;
    uint64_t pids_refused;
    uint32_t known; /* FRAME_HAS_* */
    uint32_t full;  /* FRAME_*_IS_FULL */
};

struct frame_message {
    struct init_message message; /* inline_length is not used; time_us is how long ago */
    uint32_t fd_count;
    uint32_t blob_length;
};

/* What a descriptor of a message is on the other side. Two descriptors of one message that are the
 * same outside are one channel, so that what is written to both stays in its order. */
enum frame_fd_kind {
    FRAME_FD_INPUT = 1, /* the command reads it: bytes go in */
    FRAME_FD_OUTPUT,    /* the command writes it: bytes come out */
    FRAME_FD_TERMINAL,  /* with INIT_SPAWN: the number for the terminal that will be made; with
                           INIT_SPAWNED: its master; both ways */
    FRAME_FD_NULL,      /* /dev/null */
    FRAME_FD_FILE,      /* a small read-only file whose content follows: the program to execute */
    FRAME_FD_KIND_COUNT,
};

struct frame_fd {
    uint32_t kind;
    uint32_t channel; /* of FRAME_FD_INPUT, _OUTPUT and _TERMINAL */
    uint32_t length;  /* of FRAME_FD_FILE's content */
};

/* ---- reading --------------------------------------------------------------------------------- */

struct frame {
    uint8_t type;
    uint32_t channel;
    uint8_t *data; /* in the reader's buffer: until more is read */
    uint32_t length;
};

struct frame_reader {
    uint8_t *buffer;
    size_t start;
    size_t end;
    size_t capacity;
    uint32_t message_max; /* FRAME_MESSAGE_MAX or FRAME_REPORT_MAX */
};

/* Where to put the bytes that come next, at least one. NULL: out of memory. */
uint8_t *frame_reader_room(struct frame_reader *reader, size_t *ret_room);
void frame_reader_filled(struct frame_reader *reader, size_t length);
/* 1: a frame; 0: more bytes are needed; -1: that is no frame (errno EPROTO). */
int frame_next(struct frame_reader *reader, struct frame *ret_frame);
void frame_reader_done(struct frame_reader *reader);

/* A message taken apart; everything points into the frame. */
struct frame_parts {
    struct init_message message;
    uint32_t fd_count;
    struct frame_fd fds[FRAME_MAX_FDS];
    uint8_t *contents[FRAME_MAX_FDS]; /* of FRAME_FD_FILE */
    uint8_t *blob;
    uint32_t blob_length;
};

/* 0, or -1 with errno EPROTO. */
int frame_message_read(const struct frame *frame, struct frame_parts *ret_parts);

/* ---- writing --------------------------------------------------------------------------------- */

/* Frames on their way out. Running out of memory marks it failed, once and for all. */
struct frame_queue {
    uint8_t *data;
    size_t start;
    size_t end;
    size_t capacity;
    bool failed;
};

static inline size_t frame_queue_length(const struct frame_queue *queue)
{
    return queue->end - queue->start;
}

/* Room for the content of a frame of at most this length; NULL: out of memory. */
uint8_t *frame_begin(struct frame_queue *queue, size_t room);
/* The frame has become this long, and is on its way. */
void frame_commit(struct frame_queue *queue, enum frame_type type, uint32_t channel,
                  uint32_t length);
/* Both at once. */
void frame_put(struct frame_queue *queue, enum frame_type type, uint32_t channel, const void *data,
               uint32_t length);
void frame_put_message(struct frame_queue *queue, const struct frame_parts *parts);
void frame_queue_sent(struct frame_queue *queue, size_t length);
void frame_queue_done(struct frame_queue *queue);

#endif
