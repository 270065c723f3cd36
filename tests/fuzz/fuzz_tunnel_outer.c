/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever comes out of a container: the outer end keeps what it remembers within bounds, and tells
 * its keeper nothing but reports that PID 1 may make. The first byte says how the rest is cut. */
#include "fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "porter/outer.h"

struct container {
    const uint8_t *data;
    size_t length;
    size_t chunk;
    int idle; /* a descriptor that is always ready */
};

static int any_fd(const struct container *container)
{
    return container->idle;
}

static bool has_pending(const struct container *container)
{
    (void)container;
    return true;
}

static ssize_t read_stream(struct container *container, void *buffer, size_t size)
{
    size_t length = container->length < container->chunk ? container->length : container->chunk;
    length = length < size ? length : size;
    memcpy(buffer, container->data, length);
    container->data += length;
    container->length -= length;
    return (ssize_t)length;
}

static ssize_t write_stream(struct container *container, const void *data, size_t length)
{
    (void)container;
    (void)data;
    return (ssize_t)length;
}

static const struct container_ops ops = {.read_fd = any_fd,
                                         .write_fd = any_fd,
                                         .has_pending = has_pending,
                                         .read = read_stream,
                                         .write = write_stream};

/* What a keeper would have ordered: a command with pipes, and one with a terminal. */
static void open_channels(struct outer *outer, int *ret_far)
{
    int in[2], out[2];
    REQUIRE(pipe2(in, O_CLOEXEC | O_NONBLOCK) == 0 && pipe2(out, O_CLOEXEC | O_NONBLOCK) == 0,
            "no pipe");
    struct channel *input = tunnel_open(&outer->tunnel, 1, 1, FRAME_FD_INPUT);
    struct channel *output = tunnel_open(&outer->tunnel, 2, 1, FRAME_FD_OUTPUT);
    struct channel *terminal = tunnel_open(&outer->tunnel, 3, 2, FRAME_FD_TERMINAL);
    REQUIRE(input && output && terminal, "no channel");
    input->source = in[0];
    output->target = out[1];
    terminal->master = in[1];
    terminal->is_reserved = true;
    ret_far[0] = out[0];
    outer->last_channel = 3;
}

static void check_reports(int keeper)
{
    struct init_message report;
    while (recv(keeper, &report, sizeof(report), MSG_DONTWAIT) == (ssize_t)sizeof(report))
        REQUIRE(report.type == INIT_SPAWNED || report.type == INIT_EXITED ||
                    report.type == INIT_GONE || report.type == INIT_FAILED,
                "a report of type %u", report.type);
}

static void check_bounds(const struct outer *outer)
{
    for (size_t i = 0; i < outer->tunnel.count; i++)
        REQUIRE(outer->tunnel.channels[i]->waiting_length <= FRAME_WINDOW * 2 + FRAME_OVERDRAFT,
                "%zu bytes wait", outer->tunnel.channels[i]->waiting_length);
    REQUIRE(outer->tunnel.in.capacity <= (1u << 20), "%zu", outer->tunnel.in.capacity);
    REQUIRE(outer->tunnel.count <= 3, "%zu channels", outer->tunnel.count);
    REQUIRE(outer->reports.count <= REPORTS_MAX, "%zu reports", outer->reports.count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct outer outer;
    int ends[2], far = -1;
    if (!size)
        return 0;
    (void)signal(SIGPIPE, SIG_IGN);
    struct container container = {data + 1, size - 1, (size_t)data[0] * data[0] + 1, -1};
    container.idle = open("/dev/null", O_RDWR | O_CLOEXEC);
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0, "no sockets");
    outer_init(&outer, &ops, &container, ends[0], -1);
    open_channels(&outer, &far);
    while (!outer.stream_ended && !outer.is_broken) {
        int r = outer_turn(&outer, 0, &err);
        REQUIRE(r == 0, "%s", err.msg);
        check_reports(ends[1]);
        check_bounds(&outer);
    }
    (void)close(far);
    outer.keeper_gone = true;
    outer_finish(&outer);
    outer_done(&outer);
    (void)close(ends[0]);
    (void)close(ends[1]);
    (void)close(container.idle);
    return 0;
}
