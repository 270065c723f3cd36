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
 * other. What cannot be understood ends the tunnel, and with it the sandbox. */
#ifndef HUTCH_PORTER_FRAME_H
#define HUTCH_PORTER_FRAME_H

#include <stdint.h>

#define FRAME_VERSION 1
#define FRAME_DATA_MAX (64u << 10)    /* bytes in one frame of a channel */
#define FRAME_MESSAGE_MAX (64u << 20) /* of a message with its blob and its files */
#define FRAME_WINDOW (256u << 10)     /* what a channel may send before it is allowed more */
#define FRAME_MAX_CHANNELS 8192       /* alive at one time; numbers are chosen by the outside */

enum frame_type {
    FRAME_HELLO = 1, /* inside: it is there; a struct frame_hello. The first frame. */
    FRAME_MESSAGE,   /* both: a struct init_message, then a struct frame_fd for each descriptor, its
                        content when it is a file, then the blob */
    FRAME_DATA,      /* both: bytes of a channel */
    FRAME_CLOSE,     /* both: no more bytes in this direction */
    FRAME_GONE,      /* both: nobody reads this channel any more; what arrives is dropped */
    FRAME_WINDOW_ADD, /* both: uint32: so many bytes more may be sent */
    FRAME_RESIZE,     /* outside: uint16 rows, uint16 columns of a terminal */
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

/* What a descriptor of a message is on the other side. */
enum frame_fd_kind {
    FRAME_FD_INPUT = 1, /* the command reads it: bytes go in */
    FRAME_FD_OUTPUT,    /* the command writes it: bytes come out */
    FRAME_FD_TERMINAL,  /* master of a terminal: both ways; comes with INIT_SPAWNED */
    FRAME_FD_NULL,      /* /dev/null */
    FRAME_FD_FILE,      /* a small read-only file whose content follows: the program to execute */
};

struct frame_fd {
    uint32_t kind;
    uint32_t channel; /* of FRAME_FD_INPUT, _OUTPUT and _TERMINAL */
    uint32_t length;  /* of FRAME_FD_FILE's content, which follows */
};

#endif
