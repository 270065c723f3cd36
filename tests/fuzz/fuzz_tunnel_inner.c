/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever a porter says: PID 1 hears only orders that are whole, with the descriptors that belong
 * to them. The first byte says how the rest is cut. */
#include "fuzz.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "init/guest.h"

static void close_rights(struct msghdr *header, uint32_t *ret_count)
{
    struct cmsghdr *rights = CMSG_FIRSTHDR(header);
    *ret_count = 0;
    if (!rights)
        return;
    int fds[16];
    *ret_count = (uint32_t)((rights->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    memcpy(fds, CMSG_DATA(rights), *ret_count * sizeof(int));
    for (uint32_t i = 0; i < *ret_count; i++)
        (void)close(fds[i]);
}

static void check_orders(int socket)
{
    static char blob[INIT_INLINE_BYTES];
    struct init_message order;
    char space[CMSG_SPACE(sizeof(int) * 16)];
    for (;;) {
        struct iovec data[2] = {{&order, sizeof(order)}, {blob, sizeof(blob)}};
        struct msghdr header = {.msg_iov = data,
                                .msg_iovlen = 2,
                                .msg_control = space,
                                .msg_controllen = sizeof(space)};
        uint32_t count;
        ssize_t got = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (got < 0)
            return;
        close_rights(&header, &count);
        REQUIRE((size_t)got == sizeof(order) + order.inline_length, "%zd bytes", got);
        REQUIRE(order.type == INIT_SPAWN || order.type == INIT_SIGNAL || order.type == INIT_KILL,
                "an order of type %u", order.type);
        REQUIRE(order.type != INIT_SPAWN || order.inline_length >= sizeof(struct init_spawn) ||
                    (!order.inline_length && count),
                "an order without a blob");
        REQUIRE(count <= FRAME_MAX_FDS + 1, "%u descriptors", count);
    }
}

/* As guest.c does it; false when the tunnel is over. */
static bool take_frame(struct guest *guest, const struct frame *frame)
{
    struct frame_parts parts;
    if (frame->type == FRAME_MESSAGE)
        return frame_message_read(frame, &parts) == 0 && guest_pass_order(guest, &parts) == 0;
    if (frame->type == FRAME_RESIZE)
        return true;
    return frame->type != FRAME_HELLO && frame->type != FRAME_END &&
           frame->type != FRAME_COUNTERS &&
           (frame->type == FRAME_COUNT || tunnel_take(&guest->tunnel, frame) == 0);
}

static bool feed(struct guest *guest, const uint8_t *data, size_t length, int socket)
{
    struct frame_reader *in = &guest->tunnel.in;
    while (length) {
        size_t room;
        struct frame frame;
        uint8_t *place = frame_reader_room(in, &room);
        REQUIRE(place && room, "no room");
        size_t chunk = length < room ? length : room;
        memcpy(place, data, chunk);
        frame_reader_filled(in, chunk);
        data += chunk;
        length -= chunk;
        int found;
        while ((found = frame_next(in, &frame)) > 0) {
            if (!take_frame(guest, &frame))
                return false;
            check_orders(socket);
        }
        if (found < 0)
            return false;
        tunnel_sweep(&guest->tunnel);
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct guest guest = {.in = -1, .out = -1};
    int ends[2];
    if (!size)
        return 0;
    (void)signal(SIGPIPE, SIG_IGN);
    size_t chunk = (size_t)data[0] * data[0] + 1;
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0, "no sockets");
    guest.socket = ends[0];
    guest.tunnel.in.message_max = FRAME_MESSAGE_MAX;
    for (size_t at = 1; at < size; at += chunk)
        if (!feed(&guest, data + at, size - at < chunk ? size - at : chunk, ends[1]))
            break;
    REQUIRE(guest.tunnel.count <= FRAME_MAX_CHANNELS, "%zu channels", guest.tunnel.count);
    tunnel_done(&guest.tunnel);
    reports_done(&guest.reports);
    (void)close(ends[0]);
    (void)close(ends[1]);
    return 0;
}
