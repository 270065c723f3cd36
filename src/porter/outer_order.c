/* SPDX-License-Identifier: Apache-2.0 */
/* What the keeper orders, and what becomes of the descriptors that come along: a pipe becomes a
 * channel, the null device stays what it is, a program travels as it is. */
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "porter/outer.h"
#include "util/own.h"

#define STDIO_COUNT 3

/* A message of the keeper's. */
struct order {
    struct init_message message;
    _Alignas(8) uint8_t inlined[INIT_INLINE_BYTES];
    int fds[INIT_MAX_FDS_PER_MESSAGE];
    size_t fd_count;
    size_t next_fd; /* those before it have been dealt with */
};

static void order_done(struct order *order)
{
    for (size_t i = 0; i < order->fd_count; i++)
        hutch_fd_close(&order->fds[i]);
}

/* 1: a message; 0: none now; -1: there will be none. */
static int receive(int socket, struct order *order)
{
    struct iovec data[2] = {{&order->message, sizeof(order->message)},
                            {order->inlined, sizeof(order->inlined)}};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int) * INIT_MAX_FDS_PER_MESSAGE)];
    } control;
    struct msghdr header = {.msg_iov = data,
                            .msg_iovlen = 2,
                            .msg_control = control.space,
                            .msg_controllen = sizeof(control.space)};
    order->fd_count = order->next_fd = 0;
    ssize_t got = recvmsg(socket, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    struct cmsghdr *rights = got > 0 ? CMSG_FIRSTHDR(&header) : NULL;
    if (rights && rights->cmsg_type == SCM_RIGHTS) {
        order->fd_count = (rights->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(order->fds, CMSG_DATA(rights), order->fd_count * sizeof(int));
    }
    return got >= (ssize_t)sizeof(order->message) &&
                   order->message.inline_length == (size_t)got - sizeof(order->message)
               ? 1
               : -1;
}

/* The next descriptor, which the order still owns. */
static int *next_fd(struct order *order)
{
    if (order->next_fd < order->fd_count)
        return &order->fds[order->next_fd++];
    errno = EPROTO;
    return NULL;
}

static int read_whole(int fd, uint8_t **ret_data, uint32_t *ret_length)
{
    struct stat info;
    if (fstat(fd, &info) < 0)
        return -1;
    if (info.st_size < 0 || info.st_size >= (off_t)FRAME_MESSAGE_MAX / 2) {
        errno = EFBIG;
        return -1;
    }
    size_t length = (size_t)info.st_size, done = 0;
    hutch_autofree uint8_t *data = malloc(length ? length : 1);
    while (data && done < length) {
        ssize_t got = pread(fd, data + done, length - done, (off_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            errno = got < 0 ? errno : EIO;
            return -1;
        }
        done += (size_t)got;
    }
    if (!data)
        return -1;
    *ret_data = HUTCH_TAKE_PTR(data);
    *ret_length = (uint32_t)length;
    return 0;
}

/* ---- descriptors ----------------------------------------------------------------------------- */

/* Others have the same pipe open and may not find it non-blocking: it is opened again. Where that
 * may not be (another user has made it) little is written at a time. */
static bool make_unblocking(int *fd, int flags)
{
    char path[40];
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", *fd);
    int again = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (again < 0)
        return false;
    (void)close(*fd);
    *fd = again;
    return true;
}

static bool is_same_file(int a, int b)
{
    return a >= 0 && syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILE, a, b) == 0;
}

/* Is it what another descriptor of this message is? Then their bytes stay in their order. */
static const struct frame_fd *find_twin(const struct frame_parts *parts, const int *originals,
                                        uint32_t count, int fd)
{
    for (uint32_t i = 1; i < count; i++)
        if (parts->fds[i].kind == FRAME_FD_OUTPUT && is_same_file(originals[i], fd))
            return &parts->fds[i];
    return NULL;
}

static struct channel *open_channel(struct outer *outer, struct frame_parts *parts, uint32_t kind)
{
    if (outer->last_channel == UINT32_MAX) {
        errno = EOVERFLOW;
        return NULL;
    }
    struct channel *channel =
        tunnel_open(&outer->tunnel, outer->last_channel + 1, parts->message.session, kind);
    if (!channel)
        return NULL;
    outer->last_channel++;
    parts->fds[parts->fd_count++] = (struct frame_fd){.kind = kind, .channel = channel->number};
    return channel;
}

static int add_stdio(struct outer *outer, struct order *order, struct frame_parts *parts)
{
    int originals[STDIO_COUNT] = {-1, -1, -1};
    for (uint32_t i = 0; i < STDIO_COUNT; i++) {
        struct stat info;
        int *fd = next_fd(order);
        if (!fd || fstat(*fd, &info) < 0)
            return -1;
        originals[i] = *fd;
        const struct frame_fd *twin = find_twin(parts, originals, i, *fd);
        if (S_ISCHR(info.st_mode) && info.st_rdev == makedev(1, 3)) {
            parts->fds[parts->fd_count++] = (struct frame_fd){.kind = FRAME_FD_NULL};
        } else if (twin) {
            parts->fds[parts->fd_count++] = *twin;
        } else {
            struct channel *channel =
                open_channel(outer, parts, i ? FRAME_FD_OUTPUT : FRAME_FD_INPUT);
            int *place = channel ? (i ? &channel->target : &channel->source) : NULL;
            if (!place || (*place = fcntl(*fd, F_DUPFD_CLOEXEC, 0)) < 0)
                return -1;
            bool is_free =
                S_ISFIFO(info.st_mode) && make_unblocking(place, i ? O_WRONLY : O_RDONLY);
            channel->target_blocks = i && !is_free;
        }
    }
    return 0;
}

static int add_terminal(struct outer *outer, struct frame_parts *parts,
                        const struct init_spawn *spawn)
{
    struct channel *channel = open_channel(outer, parts, FRAME_FD_TERMINAL);
    return channel ? outer_make_terminal(channel, spawn->rows, spawn->columns) : -1;
}

static int add_program(struct order *order, struct frame_parts *parts)
{
    const int *fd = next_fd(order);
    struct frame_fd *file = &parts->fds[parts->fd_count];
    if (!fd || read_whole(*fd, &parts->contents[parts->fd_count], &file->length) < 0)
        return -1;
    file->kind = FRAME_FD_FILE;
    parts->fd_count++;
    return 0;
}

/* ---- orders ---------------------------------------------------------------------------------- */

static int take_blob(struct order *order, struct frame_parts *parts, uint8_t **ret_owned)
{
    parts->blob = order->inlined;
    parts->blob_length = order->message.inline_length;
    if (!order->message.inline_length) {
        const int *fd = next_fd(order);
        if (!fd || read_whole(*fd, ret_owned, &parts->blob_length) < 0)
            return -1;
        parts->blob = *ret_owned;
    }
    if (parts->blob_length >= sizeof(struct init_spawn))
        return 0;
    errno = EPROTO;
    return -1;
}

static int build_spawn(struct outer *outer, struct order *order, struct frame_parts *parts,
                       uint8_t **ret_blob, uint32_t *ret_stage)
{
    struct init_spawn spawn;
    *ret_stage = INIT_STAGE_PROTOCOL;
    if (take_blob(order, parts, ret_blob) < 0)
        return -1;
    memcpy(&spawn, parts->blob, sizeof(spawn));
    *ret_stage = spawn.terminal ? INIT_STAGE_TERMINAL : INIT_STAGE_STDIO;
    int status =
        spawn.terminal ? add_terminal(outer, parts, &spawn) : add_stdio(outer, order, parts);
    if (status < 0)
        return -1;
    *ret_stage = INIT_STAGE_PROTOCOL;
    if (spawn.program && add_program(order, parts) < 0)
        return -1;
    if (order->next_fd == order->fd_count && !spawn.group_count)
        return 0;
    errno = EPROTO; /* a container's commands have no cgroups of ours */
    return -1;
}

static void pass_spawn(struct outer *outer, struct order *order)
{
    struct frame_parts parts = {.message = order->message};
    hutch_autofree uint8_t *blob = NULL;
    uint32_t stage = 0;
    if (build_spawn(outer, order, &parts, &blob, &stage) == 0)
        frame_put_message(&outer->tunnel.out, &parts);
    else
        outer_fail(outer, order->message.session, stage, errno);
    for (uint32_t i = 0; i < parts.fd_count; i++)
        if (parts.fds[i].kind == FRAME_FD_FILE)
            free(parts.contents[i]);
}

void outer_take_order(struct outer *outer)
{
    struct order order;
    struct frame_parts parts = {0};
    int got = receive(outer->keeper, &order);
    outer->keeper_gone |= got < 0;
    if (got <= 0) {
        order_done(&order);
        return;
    }
    switch (order.message.type) {
    case INIT_SPAWN:
        pass_spawn(outer, &order);
        break;
    case INIT_SIGNAL:
    case INIT_KILL:
        parts.message = order.message;
        frame_put_message(&outer->tunnel.out, &parts);
        break;
    case PORTER_END:
        outer->end_asked = true;
        outer->end_value = order.message.value;
        break;
    default: /* nothing else has a meaning here */
        outer_fail(outer, order.message.session, INIT_STAGE_PROTOCOL, EPROTO);
        break;
    }
    order_done(&order);
}
